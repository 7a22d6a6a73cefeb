# SPDX-License-Identifier: GPL-3.0-or-later
"""The real enroot as a judge: it imports what we write, with the key in its own file, and starts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.effort import exhaustive
from tests.integration.jobs.image_scene import IDENTITY, PLAIN, REPOSITORY_OF_IMAGE, Scene, layer
from tests.integration.runs import onboard
from tests.testbed import real_enroot

pytestmark = [pytest.mark.testbed, exhaustive]

PROGRAMS = ("/bin/sh", "/bin/cat", "/bin/mkdir")  # those that enroot starts a container with, and one more


@pytest.fixture
def here(scene: Callable[..., Scene], enroot: Path) -> Iterator[Scene]:
    """An account at LRZ, whose nodes have the real enroot, and an image with programs in it."""
    here = scene()
    here.digest = here.registry.push(REPOSITORY_OF_IMAGE, "24.03-py3", layer("for the judge", *PROGRAMS))
    with real_enroot.installed(here.slurm.cluster.world, enroot):
        yield here


def test_what_is_imported_by_a_job_starts_and_holds_what_the_image_does(here: Scene) -> None:
    ran = here.run()
    assert ran.code == 0, ran.text
    assert ran.statuses(here.account.name)[IDENTITY] == "missing"
    file = f"{PLAIN}+{here.digest[7:19]}.sqsh"
    assert here.left() == [file, f"{file}.hpc.onboard", f"{PLAIN}.sqsh"]
    start = f"enroot create -n judged {here.folder}/{PLAIN}.sqsh && enroot start judged cat /etc/image"
    within = f"export ENROOT_RUNTIME_PATH=/tmp/judged; {start}"
    step = here.account.login_shell(
        f"usrun.sh --gpus=0 --partition=lrz-cpu --qos=cpu --image=none bash -c '{within}'", timeout=60
    )
    assert (step.returncode, step.stdout) == (0, "for the judge"), step.stderr
    again = here.run()
    assert set(again.statuses(here.account.name).values()) == {"ok"}, again.text
    assert len(here.submitted()) == 1


def test_an_image_that_is_built_on_another_one_holds_what_was_added(here: Scene) -> None:
    account = here.account
    assert here.run().code == 0
    scripts = {"templates": ["build"], "account": account.project}
    ran = onboard(here.bed, account, more=("--tags", "job_scripts"), settings={account.name: {"job_scripts": scripts}})
    assert ran.code == 0, ran.text
    account.ssh("printf '%s\n' 'cat /etc/image >/etc/built' 'mkdir /added' >commands")
    build = f"sbatch --wait --parsable jobs/build.sh {PLAIN}.sqsh ~/commands new.sqsh"
    done = account.login_shell(build, timeout=60)
    said = account.ssh("cat jobs/output/build-*.out").stdout
    assert done.returncode == 0, said
    assert f"built {here.folder}/new.sqsh" in said
    image = account.path(f"{here.folder}/new.sqsh")
    listed = str(here.slurm.cluster.world.run("unsquashfs", "-lc", f"{here.folder}/new.sqsh"))
    assert {"squashfs-root/added", "squashfs-root/etc/built"} <= set(listed.split())
    assert image.stat().st_uid == account.path(".").stat().st_uid
    assert [one.name for one in image.parent.iterdir() if one.name.startswith(("new.sqsh.", ".build"))] == []
    again = account.login_shell(build, timeout=60)
    assert again.returncode != 0
    assert "new.sqsh already exists. Choose a different name" in account.ssh("cat jobs/output/build-*.out").stdout
    account.ssh("echo false >commands")
    assert account.login_shell(build.replace("new.sqsh", "other.sqsh"), timeout=60).returncode != 0
    assert [one.name for one in image.parent.iterdir() if one.name.startswith(("other", ".build"))] == []
