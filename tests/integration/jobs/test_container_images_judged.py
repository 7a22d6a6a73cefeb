# SPDX-License-Identifier: GPL-3.0-or-later
"""The real enroot as a judge: it imports what we write, with the key in its own file, and starts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.effort import exhaustive
from tests.integration.jobs.image_scene import IDENTITY, PLAIN, REPOSITORY_OF_IMAGE, Scene, layer
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
