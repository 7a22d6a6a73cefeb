# SPDX-License-Identifier: GPL-3.0-or-later
"""From an account to its first jobs at each of the six systems, as their tutorials want it, in one go.

An image is imported where the login node or a job reaches the registry of the testbed; elsewhere one that is there
is started. Daint's testbed has no way out: what stands for the registry there takes connections, and says nothing.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.jobs.image_scene import IMAGE
from tests.integration.jobs.image_scene import SITES as IMPORTING
from tests.integration.runs import Ran, play, until

pytestmark = pytest.mark.testbed

SYSTEMS = ("lrz", "dfki", "pegasus", "wilson", "narval", "daint")
JOBS = {"wilson": "/work1/{project}/{user}/jobs"}  # elsewhere in the home
STEP = "#!/bin/bash\necho on $SLURMD_NODENAME for $SLURM_JOB_ACCOUNT, GPU $CUDA_VISIBLE_DEVICES\n"


class Walk:
    """A person's way at one system."""

    def __init__(self, bed: Any, site: str, scene: Callable[..., Any]) -> None:
        self.bed, self.site = bed, site
        wishes: dict[str, Any] = {}
        if site in IMPORTING:
            here = scene(site)
            self.slurm, self.account, self.image = here.slurm, here.account, IMAGE
            wishes = {"container_images": {"images": [{"image": IMAGE}]}, "launchers": {"image": IMAGE}}
        else:
            self.slurm, self.account, self.image = bed.slurm(site), bed.new_account(site), "/images/a.sqsh"
            self.slurm.admit(self.account)
        self.types(f"chmod 755 . && cat >step <<'END'\n{STEP}END\nchmod 755 step")
        scripts = {"templates": ["batch"], "command": f"{self.account.home}/step", "image": "none"}
        self.said = {self.account.name: {**wishes, "job_scripts": scripts}}

    def play(self, playbook: str) -> Ran:
        """Run a playbook over the account."""
        accounts = self.bed.accounts_file([self.account], settings=self.said)
        return play(self.bed, "-i", str(accounts), playbook=playbook)

    def types(self, line: str) -> str:
        """What the account's shell prints of a line, where jobs can write."""
        place = "cd ~/work 2>/dev/null; " if self.site == "wilson" else ""
        done = self.account.login_shell(place + line, timeout=90)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        return str(done.stdout).strip()

    def batch(self) -> str:
        """What the batch job printed last."""
        place = JOBS.get(self.site, "{home}/jobs")
        folder = place.format(home=self.account.home, user=self.account.user, project=self.account.project)
        self.types(f"cd {folder} && sbatch --parsable batch.sh")
        until(lambda: not self.types("squeue -h -u $USER"))
        (file,) = self.account.path(f"{folder}/output").glob("batch-*.out")
        return str(file.read_text().strip().splitlines()[-1])

    def submitted(self) -> int:
        """How many jobs of ours there ever were."""
        return sum(name.startswith("hpc.onboard") for name in self.slurm.jobs(self.account))


@pytest.fixture
def way_out(bed: Any, site: str) -> Iterator[None]:
    """Something that takes connections in the registry's place, where nothing else would."""
    if site != "daint":
        yield
        return
    world = bed.cluster(site).world
    with (world.root / "etc/hosts").open("a") as hosts:
        hosts.write("127.0.0.1 nvcr.io\n")
    with subprocess.Popen(world.command("python3", "-m", "http.server", "443", "--bind", "127.0.0.1")) as server:
        yield
        server.kill()


def account_line(ran: Ran) -> str:
    """What a run says of the account, in one line."""
    return " ".join(next(line for line in ran.text.splitlines() if line[:1] in "✓✗!").split())


@pytest.mark.usefixtures("way_out")
@pytest.mark.parametrize("site", [pytest.param(site, marks=turns(len(SYSTEMS))) for site in SYSTEMS])
def test_the_way_from_an_account_to_its_first_jobs(
    bed: Any, site: str, scene: Callable[..., Any], say: Callable[[str], None]
) -> None:
    walk = Walk(bed, site, scene)
    first = walk.play("onboard.yml")
    assert first.code == 0, first.text
    step = walk.types(f"usrun.sh --image=none --time=5 {walk.account.home}/step")
    batch = walk.batch()
    for said in (step, batch):
        assert said.endswith(f"for {walk.account.project}, GPU 0"), said
    inside = walk.types(f"usrun.sh --image={walk.image} --gpus=0 --time=5 env").splitlines()
    started = next(line for line in inside if line.startswith(("STANDIN_IMAGE=", "STANDIN_ENVIRONMENT=")))
    tried = walk.play("test_job.yml")
    assert tried.code == 0, tried.text
    jobs = walk.submitted()
    again = walk.play("onboard.yml")
    assert "1 account: 1 unchanged" in again.text, again.text
    assert walk.submitted() == jobs
    rows = (account_line(first), f"usrun.sh: {step}", f"batch: {batch}", started, f"try: {account_line(tried)}")
    say(f"{site}: {' | '.join(rows)} | again: {account_line(again)}")
