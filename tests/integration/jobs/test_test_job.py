# SPDX-License-Identifier: GPL-3.0-or-later
"""test_job.yml on a real Slurm: what one small job says, that it is submitted once, and that nothing of it is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.effort import EXHAUSTIVE, chance, turns
from tests.integration.runs import REPOSITORY, Ran, begin, play, seen_from, until

pytestmark = [pytest.mark.testbed, turns(11)]

FOLDER = ".hpc.onboard-test-job"
SCHEMA = json.loads((REPOSITORY / "docs/schemas/test-job.schema.json").read_text(encoding="utf-8"))
MOMENTS = 12 if EXHAUSTIVE else 2


class Person:
    """A person whose account on a cluster with a Slurm is set up."""

    def __init__(self, bed: Any, site: str, profiles: Path | None = None, **said: Any) -> None:
        """profiles: a folder of their own. said: what the accounts file says of the account."""
        self.bed, self.slurm = bed, bed.slurm(site)
        self.account = bed.new_account(site, project="deep_lgt")
        self.more = {"profiles": [str(profiles)]} if profiles else {}
        self.said = {self.account.name: said}
        self.slurm.admit(self.account)
        assert self.runs("onboard.yml").code == 0

    def accounts(self) -> str:
        """The accounts file."""
        return str(self.bed.accounts_file([self.account], self.more, settings=self.said))

    def runs(self, playbook: str = "test_job.yml", *words: str) -> Ran:
        """Run a playbook over the account."""
        return play(self.bed, "-i", self.accounts(), *words, playbook=playbook)

    def document(self, file: Path, *words: str) -> dict[str, Any]:
        """What a try says of the account to programs, and the exit code."""
        ran = self.runs("test_job.yml", "-e", f"test_job_output={file}", *words)
        document = json.loads(file.read_text(encoding="utf-8"))
        jsonschema.validate(document, SCHEMA)
        assert file.stat().st_mode & 0o777 == 0o600
        (row,) = document["accounts"]
        return {**row, "code": ran.code}

    def tried(self, ran: Ran) -> dict[str, Any]:
        """What was tried -> why it does not work, None where it does."""
        (found,) = [one["result"] for one in ran.results if "outcomes" in one["result"]]
        return {one["identity"]: one["reason"] for one in found["outcomes"]}

    def submitted(self) -> int:
        """How many jobs there ever were; Slurm's database hears of them a little later."""
        deadline = time.monotonic() + 30
        while not (found := self.slurm.jobs(self.account)) and time.monotonic() < deadline:
            time.sleep(0.5)
        return len(found)

    def is_clean(self) -> bool:
        """Whether nothing of a job is left on the account."""
        running = self.slurm.jobs(self.account, running=True)
        return not self.account.exists(FOLDER) and not running


def test_a_job_says_what_works_and_leaves_nothing(bed: Any) -> None:
    person = Person(bed, "narval")
    ran = person.runs("test_job.yml", "-e", "test_job_gpu=true")
    assert ran.code == 0, ran.text
    tried = person.tried(ran)
    assert tried["~ is writable"] is None
    assert tried["a GPU is visible"] is None
    assert "~/.apptainer/docker-config.json exists and is private" in tried
    assert set(tried.values()) == {None}
    assert "compute nodes have no Internet access" in " ".join(ran.text.split())
    assert person.is_clean()
    assert person.submitted() == 1


def test_what_was_found_is_a_document_too(bed: Any, tmp_path: Path) -> None:
    person = Person(bed, "narval")
    person.slurm.pause("gpubase_bygpu_b1")
    try:
        said = person.document(tmp_path / "a.json", "-e", "test_job_wait=2")
        assert (said["code"], said["state"], said["checks"]) == (2, "waiting", [])
        assert "is queued: PartitionDown" in said["text"]
        person.account.ssh("chmod 644 .apptainer/docker-config.json")
    finally:
        person.slurm.resume("gpubase_bygpu_b1")
    said = person.document(tmp_path / "b.json")
    assert (said["code"], said["state"]) == (2, "fails")
    assert {one["way"]: one["why"] for one in said["checks"] if not one["works"]} == {
        "key": "the mode is 644, not 600 or 400"
    }
    assert "compute nodes have no Internet access" in [one["why"] for one in said["skipped"]]
    person.account.ssh("chmod 600 .apptainer/docker-config.json")
    said = person.document(tmp_path / "c.json")
    assert (said["code"], said["state"], said["text"]) == (0, "works", "")
    assert person.document(tmp_path / "d.json", "--check")["state"] == "previewed"
    said = person.document(tmp_path / "e.json", "-e", "ansible_port=9")
    assert (said["code"], said["state"], said["checks"]) == (2, "not_tried", [])
    wrong = person.runs("test_job.yml", "-e", "test_job_outptu=x")
    assert wrong.code == 2
    assert "test_job_output" in wrong.text
    assert person.submitted() == 2


def test_it_goes_to_the_partition_for_tests(bed: Any) -> None:
    person = Person(bed, "wilson")
    person.slurm.pause("cpu_gce_test")
    try:
        assert person.runs("test_job.yml", "-e", "test_job_wait=2").code == 2
        where = person.account.login_shell("squeue -h -u $USER -o %P").stdout.split()
        assert where == ["cpu_gce_test"]
    finally:
        person.slurm.resume("cpu_gce_test")
    assert None in person.tried(person.runs()).values()
    assert person.submitted() == 1
    assert person.is_clean()


def test_a_limit_of_jobs_is_said_in_a_line_and_the_next_run_goes_on(bed: Any) -> None:
    person = Person(bed, "narval")
    try:
        person.slurm.limit("normal", "MaxSubmitJobsPerUser=0 Flags=DenyOnLimit")
        refused = person.runs()
        assert refused.code == 2
        said = " ".join(refused.text.split())
        assert (
            "Slurm rejected the job: you have reached the site's limit on the number of jobs (QOSMaxSubmitJobPerUser"
            in said
        )
        assert person.slurm.jobs(person.account) == []
        person.slurm.limit("normal", "MaxSubmitJobsPerUser=-1 MaxJobsPerUser=0")
        for _turn in range(2):
            waits = person.runs("test_job.yml", "-e", "test_job_wait=3")
            assert waits.code == 2
            assert "you have reached the site's limit on the number of jobs (QOSMaxJobsPerUserLimit)" in " ".join(
                waits.text.split()
            ), waits.text
            assert len(person.slurm.jobs(person.account, running=True)) == 1
    finally:
        person.slurm.limit("normal", "MaxSubmitJobsPerUser=-1 MaxJobsPerUser=-1")
    assert person.runs().code == 0
    assert person.submitted() == 1
    assert person.is_clean()


def test_jobs_go_out_by_the_module_that_a_profile_names(bed: Any, tmp_path: Path) -> None:
    shipped = (REPOSITORY / "inventory/clusters/narval.yml").read_text(encoding="utf-8")
    own = shipped.replace("  internet: none\n", "  internet: none\n  module: httpproxy\n")
    (tmp_path / "narval.yml").write_text(own, encoding="utf-8")
    what = "the proxy that the module httpproxy sets is reachable"
    with socketserver.ThreadingTCPServer(("", 0), socketserver.BaseRequestHandler) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        address = f"http://{seen_from(bed.cluster('narval'))}:{proxy.server_address[1]}"
        bed.modules("narval").add_module("httpproxy", f'setenv("https_proxy", "{address}")\n')
        person = Person(bed, "narval", tmp_path)
        done = person.runs()
        assert person.tried(done)[what] is None, done.text
        step = "usrun.sh --image=none --gpus=0 --time=5 sh -c 'echo $https_proxy'"
        ran = person.account.login_shell(f"cd /scratch/{person.account.user} && {step}", timeout=60)
        assert ran.stdout == f"{address}\n", ran.stderr
        proxy.shutdown()
    assert person.tried(person.runs())[what] == "could not connect within 10 s"


def test_a_job_starts_the_image_that_was_declared(bed: Any) -> None:
    image = "nvcr.io/uni-muster/pytorch:24.03-py3"
    site = "/data/enroot/nvcr.io_uni-muster_pytorch_24.03-py3.sqsh"
    world = bed.slurm("dfki").cluster.world
    world.path(site).parent.mkdir(exist_ok=True)
    world.path(site).write_bytes(b"hsqs")
    world.path(f"{site}.packages").write_text("pandas==2.2\n")
    world.run("sh", "-c", "mkdir -p /run/standin && : >/run/standin/started && chmod 666 /run/standin/started")
    try:
        wanted = {"images": [{"image": image, "packages": ["pandas"]}]}
        person = Person(bed, "dfki", launchers={"image": ""}, container_images=wanted)
        assert person.tried(person.runs())[f"a container starts from {image}"] is None
        assert world.path("/run/standin/started").read_text().split() == [site]
        gone = "/data/enroot/gone.sqsh"
        person.said[person.account.name]["launchers"] = {"image": gone}
        said = person.tried(person.runs())[f"a container starts from {gone}"]
        assert said == f"usrun.sh: {gone} does not exist. To see the files in this folder, run: ls /data/enroot"
        assert person.is_clean()
    finally:
        for name in (site, f"{site}.packages"):
            world.path(name).unlink(missing_ok=True)


def test_killed_at_random_moments_nothing_is_lost_or_submitted_twice(bed: Any, say: Callable[[str], None]) -> None:
    randomly = chance("try")
    person = Person(bed, "narval")
    before = 0
    for number in range(MOMENTS):
        run = begin(bed, "-i", person.accounts(), playbook="test_job.yml")
        until(person.account.processes)
        time.sleep(randomly.uniform(0.0, 2.5))
        job_too = number % 2 == 0
        for pid in person.account.processes():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if job_too or b"SLURM_JOB_ID=" not in Path(f"/proc/{pid}/environ").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=120)
        codes = [run.returncode]
        while codes[-1] and len(codes) < 4:
            codes.append(person.runs().code)
        assert codes[-1] == 0, codes
        assert person.is_clean()
        after = person.submitted()
        assert 1 <= after - before <= 2, "a second one only where the first one was killed, or had told its result"
        before = after
    say(f"try: runs killed: {MOMENTS}; jobs submitted: {before}; left behind: 0")


def test_what_does_not_work_is_told(bed: Any) -> None:
    person = Person(bed, "dfki")
    person.account.ssh(
        "chmod 644 .config/enroot/.credentials enroot/.credentials; rm -f .config/hpc.onboard/env.sh bin/usrun.sh"
    )
    ran = person.runs()
    assert ran.code == 2, ran.text
    tried = person.tried(ran)
    (key,) = [why for what, why in tried.items() if what.endswith("is private")]
    assert key == "the mode is 644, not 600 or 400"
    assert tried["the environment loads"] == "the file does not exist in the job"
    assert tried["~/bin/usrun.sh is readable"] == "the path does not exist in the job"
    assert tried["nvcr.io is reachable"]
    assert tried["~ is writable"] is None
    assert person.is_clean()


@contextlib.contextmanager
def hidden_homes(slurm: Any, node: str) -> Iterator[None]:
    """Let the jobs of a node see no homes, as at a site whose homes open with a Kerberos ticket only."""

    def start(first: str) -> None:
        world = slurm.cluster.world
        world.run("sh", "-c", f"kill $(cat /run/slurm/state/slurmd-{node}.pid); sleep 1")
        world.run("unshare", "--uts", "--mount", "sh", "-c", f"{first}hostname {node} && exec slurmd -N {node}")

    start("mount -t tmpfs tmpfs /nashome && ")
    try:
        yield
    finally:
        start("")


def test_what_jobs_cannot_read_in_the_home_is_named(bed: Any) -> None:
    said: dict[str, Any] = {"launchers": {"folder": "~/bin"}, "job_scripts": {"templates": ["batch", "import"]}}
    person = Person(bed, "wilson", **said)
    with hidden_homes(person.slurm, "wcwn001"):
        ran = person.runs()
        tried = person.tried(ran)
    assert ran.code == 2, ran.text
    assert tried["~/bin/usrun.sh is readable"] == "the path does not exist in the job"
    assert tried["~/.apptainer/docker-config.json exists and is private"] == "the file does not exist in the job"
    output = f"/work1/{person.account.project}/{person.account.user}/jobs/output is writable"
    assert tried[output] is None
    assert "not tested: ~ is writable: jobs cannot write to the home directory" in " ".join(ran.text.split())
    assert person.is_clean()


def test_a_job_that_waits_is_submitted_once_and_found_again(bed: Any) -> None:
    person = Person(bed, "pegasus")
    person.slurm.pause("RTX3090")
    try:
        first = person.runs("test_job.yml", "-e", "test_job_wait=4")
        again = person.runs("test_job.yml", "-e", "test_job_wait=4")
        assert (first.code, again.code) == (2, 2)
        assert "is queued" in again.text
        assert "run hpc-onboard again to wait for it" in " ".join(again.text.split())
        assert len(person.slurm.jobs(person.account, running=True)) == 1
    finally:
        person.slurm.resume("RTX3090")
    done = person.runs()
    assert person.tried(done)["~ is writable"] is None
    assert person.submitted() == 1
    assert person.is_clean()


def test_offboarding_cancels_a_job_that_waits(bed: Any) -> None:
    person = Person(bed, "pegasus")
    person.slurm.pause("RTX3090")
    try:
        assert person.runs("test_job.yml", "-e", "test_job_wait=2").code == 2
        ran = person.runs("offboard.yml", "-e", "offboard_sure=true")
        assert ran.code == 0, ran.text
        assert person.is_clean()
    finally:
        person.slurm.resume("RTX3090")


def test_a_check_run_asks_slurm_and_submits_nothing(bed: Any) -> None:
    person = Person(bed, "narval")
    assert person.runs("test_job.yml", "--check").code == 0
    assert person.slurm.jobs(person.account) == []
    person.slurm.dismiss(person.account, person.account.project)
    refused = person.runs("test_job.yml", "--check", "-e", "test_job_wait=1")
    assert refused.code == 2
    assert person.is_clean()
