# SPDX-License-Identifier: GPL-3.0-or-later
"""Container images over real ssh: imported by jobs of a real Slurm from a registry that wants a key, and started.

What is imported with is a stand-in for enroot, which reads addresses and keys as that does.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.effort import EXHAUSTIVE, chance, turns
from tests.integration.jobs.image_scene import IDENTITY, IMAGE, ONLY, PLAIN, REPOSITORY_OF_IMAGE, SITES, Scene, layer
from tests.integration.runs import KEY, begin, play, until

pytestmark = [pytest.mark.testbed, turns(12)]


@pytest.mark.parametrize("site", [pytest.param(site, marks=turns(len(SITES))) for site in SITES])
def test_an_image_is_imported_by_a_job_started_by_its_name_and_not_touched_again(
    scene: Callable[..., Scene], site: str
) -> None:
    here = scene(site)
    ran = here.run()
    assert ran.code == 0, ran.text
    assert ran.statuses(here.account.name)[IDENTITY] == "missing"
    ending, jobs = ("sif", 0) if site == "wilson" else ("sqsh", 1)
    file = f"{PLAIN}+{here.digest[7:19]}.{ending}"
    assert here.left() == [file, f"{file}.hpc.onboard", f"{PLAIN}.{ending}"]
    assert here.text(file) == "the first"
    assert len(here.submitted()) == jobs

    again = here.run()
    assert again.code == 0, again.text
    assert set(again.statuses(here.account.name).values()) == {"ok"}
    assert len(here.submitted()) == jobs

    command = f"cd {here.folder} && usrun.sh --image={IMAGE} env"
    step = here.account.login_shell(command, timeout=60)
    assert step.returncode == 0, step.stderr
    assert f"STANDIN_IMAGE={here.folder}/{file}" in step.stdout.replace(str(here.account.path("/")), "/")


def test_a_queue_that_does_not_start_is_left_politely_and_the_job_is_gone_on_with(scene: Callable[..., Scene]) -> None:
    here = scene()
    here.slurm.pause("lrz-cpu")
    try:
        for _turn in range(2):
            ran = here.run("-e", "converge_wait=0")
            assert ran.code == 2
            reason = next(one for one in ran.of(here.account.name)["outcomes"] if one["identity"] == IDENTITY)["reason"]
            assert "is queued) and continues on the account: run hpc-onboard again" in reason.replace(
                ": PartitionDown", ""
            ), reason
            assert len(here.submitted()) == 1
        preview = here.run("--check")
        assert len(here.submitted()) == 1, preview.text
    finally:
        here.slurm.resume("lrz-cpu")
    assert here.run().code == 0
    assert here.text() == "the first"
    assert len(here.submitted()) == 1


def test_a_digest_that_moved_on_is_imported_beside_and_old_ones_go_when_asked(scene: Callable[..., Scene]) -> None:
    here = scene()
    assert here.run().code == 0
    second = here.registry.push(REPOSITORY_OF_IMAGE, "24.03-py3", layer("the second"))
    ran = here.run()
    assert ran.code == 0, ran.text
    assert ran.statuses(here.account.name)[IDENTITY] == "different"
    assert here.text() == "the second"
    old, new = (f"{PLAIN}+{digest[7:19]}.sqsh" for digest in (here.digest, second))
    assert here.text(old) == "the first"
    outcome = next(one for one in here.run().of(here.account.name)["outcomes"] if one["identity"] == IDENTITY)
    assert outcome["status"] == "ok"
    assert old in outcome["remarks"][0]
    assert here.run(old="remove").code == 0
    assert here.left() == sorted([new, f"{new}.hpc.onboard", f"{PLAIN}.sqsh"])
    assert len(here.submitted()) == 2


def test_two_runs_at_once_import_once(scene: Callable[..., Scene]) -> None:
    here = scene()
    here.wait_for_imports(3)
    runs = [begun(here) for _number in range(2)]
    said = [run.communicate(timeout=150)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert here.text() == "the first"
    assert len(here.submitted()) == 1


def begun(here: Scene) -> subprocess.Popen[str]:
    """A run in the background."""
    return begin(here.bed, "-i", str(here.bed.accounts_file([here.account], settings=here.settings())), *ONLY)


def test_killed_at_random_moments_nothing_is_lost_or_submitted_twice(
    scene: Callable[..., Scene], say: Callable[[str], None]
) -> None:
    randomly = chance("images")
    moments = 12 if EXHAUSTIVE else 2
    submitted = 0
    for number in range(moments):
        here = scene()
        here.wait_for_imports(1)
        run = begun(here)
        until(lambda here=here: here.account.processes())  # type: ignore[misc]  # mypy infers no default of a lambda
        time.sleep(randomly.uniform(0.0, 2.5))
        for pid in here.account.processes():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                in_job = b"SLURM_JOB_ID=" in Path(f"/proc/{pid}/environ").read_bytes()
                if number % 2 == 0 or not in_job:
                    os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=90)
        for _turn in range(3):
            ran = here.run()
            if ran.code == 0:
                break
        assert ran.code == 0, ran.text
        assert here.text() == "the first"
        assert [name for name in here.left() if name.startswith(".")] == []
        killed_job = number % 2 == 0
        assert len(here.submitted()) <= 1 + killed_job, here.submitted()
        submitted += len(here.submitted())
    say(f"images: runs killed: {moments}; jobs submitted: {submitted}; images lost: 0")


def test_a_job_that_is_not_taken_is_said_and_submitted_by_the_next_run(scene: Callable[..., Scene]) -> None:
    here = scene()
    here.slurm.limit("cpu", "MaxSubmitJobsPerUser=0 Flags=DenyOnLimit")
    try:
        ran = here.run()
        assert ran.code == 2
        reason = next(one for one in ran.of(here.account.name)["outcomes"] if one["identity"] == IDENTITY)["reason"]
        assert "QOSMaxSubmitJobPerUserLimit" in reason, reason
        assert here.submitted() == []
    finally:
        here.slurm.limit("cpu", "MaxSubmitJobsPerUser=-1")
    assert here.run().code == 0
    assert len(here.submitted()) == 1


def test_a_job_that_was_cancelled_is_said_and_a_new_one_goes_on(scene: Callable[..., Scene]) -> None:
    here = scene()
    here.wait_for_imports(60)
    run = begun(here)
    until(lambda: "R" in here.slurm.cluster.world.run("squeue", "-h", "-o", "%t", "-u", here.account.user))
    time.sleep(1)  # the import is at work
    here.slurm.cluster.world.run("scancel", "-u", here.account.user)
    printed, _none = run.communicate(timeout=90)
    assert "was cancelled" in " ".join(printed.split()), printed
    until(lambda: not here.slurm.jobs(here.account, running=True))
    here.wait_for_imports(0)
    ran = here.run()
    assert ran.code == 0, ran.text
    assert here.text() == "the first"
    assert len(here.submitted()) == 2


@pytest.mark.parametrize(
    ("size", "content", "reason"),
    [
        ("300k", os.urandom(200_000).hex(), "temporarily needs about"),
        ("1m", "0" * 5_000_000, "No space left"),
    ],
    ids=["previewed", "in the import"],
)
def test_a_full_disk_is_said_and_the_next_run_goes_on(
    scene: Callable[..., Scene], size: str, content: str, reason: str
) -> None:
    here = scene()
    here.registry.push(REPOSITORY_OF_IMAGE, "24.03-py3", layer(content))
    world, account = here.slurm.cluster.world, here.account
    account.login_shell(f"mkdir -p -m 0700 {here.folder}")
    who = f"uid={account.login_entry.uid},gid={account.login_entry.gid},mode=700"
    world.run("mount", "-t", "tmpfs", "-o", f"size={size},{who}", "tmpfs", here.folder)
    ran = here.run()
    assert ran.code == 2
    said = next(one for one in ran.of(account.name)["outcomes"] if one["identity"] == IDENTITY)["reason"]
    assert reason in said, said
    submitted = len(here.submitted())
    assert submitted == (0 if reason == "temporarily needs about" else 1)
    world.run("mount", "-o", f"remount,size=200m,{who}", here.folder)
    ran = here.run()
    assert ran.code == 0, ran.text
    assert here.text() == content
    assert len(here.submitted()) == submitted + 1
    world.run("umount", "-l", here.folder)


def test_a_registry_that_takes_user_and_key_itself_gives_its_images(scene: Callable[..., Scene]) -> None:
    here = scene()
    here.registry.basic = True
    try:
        ran = here.run()
        assert ran.code == 0, ran.text
        assert here.text() == "the first"
        here.registry.revoke(KEY)
        refused = here.run()
        assert "with the key in the container tool's key file" in " ".join(refused.text.split()), refused.text
    finally:
        here.registry.basic = False


def test_a_key_that_is_not_taken_is_said_before_a_job_waits(scene: Callable[..., Scene]) -> None:
    here = scene()
    here.registry.revoke(KEY)
    ran = here.run()
    assert ran.code == 2
    reason = next(one for one in ran.of(here.account.name)["outcomes"] if one["identity"] == IDENTITY)["reason"]
    assert "with the key in the container tool's key file" in reason, reason
    assert here.submitted() == []


def test_an_image_of_the_site_is_used_where_its_list_has_the_packages(scene: Callable[..., Scene]) -> None:
    here = scene("dfki")
    site = "/data/enroot/nvcr.io_uni-muster_pytorch_24.03-py3.sqsh"
    world = here.slurm.cluster.world
    world.path("/data/enroot/").joinpath(Path(site).name).write_bytes(b"hsqs")
    world.path("/data/enroot/").joinpath(f"{Path(site).name}.packages").write_text("numpy 1.26\nPandas==2.2\n")
    try:
        images = [{"image": IMAGE, "packages": ["pandas"]}]
        ran = here.run(images=images)
        assert ran.code == 0, ran.text
        assert os.readlink(here.account.path(f"{here.folder}/{PLAIN}.sqsh", follow=False)) == site
        assert set(here.run(images=images).statuses(here.account.name).values()) == {"ok"}
        assert here.submitted() == []
        assert here.run(images=[{"image": IMAGE, "packages": ["torch"]}]).code == 0
        assert len(here.submitted()) == 1
    finally:
        for name in (Path(site).name, f"{Path(site).name}.packages"):
            world.path("/data/enroot/").joinpath(name).unlink()


@pytest.mark.parametrize("when", ["there", "queued"])
def test_offboarding_takes_images_out_and_cancels_the_job(scene: Callable[..., Scene], when: str) -> None:
    here = scene()
    if when == "queued":
        here.slurm.pause("lrz-cpu")
    try:
        ran = here.run("-e", "converge_wait=0") if when == "queued" else here.run()
        assert ran.code == (2 if when == "queued" else 0), ran.text
        file = here.bed.accounts_file([here.account], settings=here.settings())
        shown = play(here.bed, "-i", str(file), "--check", playbook="offboard.yml")
        if when == "there":
            assert re.search(rf"- image {re.escape(IMAGE)}, \d+(\.\d)? (bytes|kB)", " ".join(shown.text.split()))
        gone = play(here.bed, "-i", str(file), "-e", "offboard_sure=true", playbook="offboard.yml")
        assert gone.code == 0, gone.text
        assert not here.account.exists(here.folder), here.left()
        assert here.slurm.jobs(here.account, running=True) == []
    finally:
        here.slurm.resume("lrz-cpu")
