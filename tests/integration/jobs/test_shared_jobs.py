# SPDX-License-Identifier: GPL-3.0-or-later
"""A job goes by no path that a colleague can turn: what he lays under the name of its folder is not run or changed."""

from __future__ import annotations

import os
import shlex
from threading import Thread
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.audit.audit_scene import by_root
from tests.integration.runs import until

from .image_scene import PLAIN, Scene

pytestmark = [pytest.mark.testbed, turns(3)]

COLLEAGUE = 54322


class Trap:
    """What a colleague puts in the place of the account's folder in the project's area: links to what is private."""

    def __init__(self, here: Scene) -> None:
        self.here, self.private = here, f"{here.account.home}/thesis"
        self.mine = here.folder.removesuffix("/images")
        self.area = self.mine.rpartition("/")[0]
        self.work = f".{PLAIN}.import"
        by_root(here.account, f"chmod 777 {self.area}; install -d -m 700 -o {here.account.user} {self.private}")
        at = f"{self.private}/cache {self.private}/mark.json {self.private}/chapter"
        by_root(here.account, f"touch {at}; chown {here.account.user} {at}")
        self.before = self.contents()

    def contents(self) -> list[str]:
        """The names of what is private."""
        return sorted(path.name for path in self.here.account.path(self.private).iterdir())

    def spring(self, *more: str) -> None:
        """Turn the path. more: what else he does in the folder that stands in for the images'."""
        images = f"{self.mine}/images"
        laid = more or (f"ln -s {self.private} {images}/{self.work}",)
        by_root(self.here.account, "; ".join([f"mv {self.mine} {self.mine}-away; mkdir -p {images}", *laid]))
        by_root(self.here.account, f"chown -Rh {COLLEAGUE} {self.mine}; chmod 755 {self.mine} {images}")

    def undo(self) -> None:
        by_root(self.here.account, f"rm -rf {self.mine}; mv {self.mine}-away {self.mine}")

    def end_of_jobs(self) -> None:
        """Wait until no job is there any more."""
        until(lambda: not self.here.slurm.jobs(self.here.account, running=True))


def test_a_job_that_finds_another_folder_in_its_place_does_nothing_there(scene: Any) -> None:
    here = scene()
    trap = Trap(here)
    here.slurm.pause("lrz-cpu")
    try:
        assert here.run("-e", "converge_wait=0").code == 2
        trap.spring()
    finally:
        here.slurm.resume("lrz-cpu")
    trap.end_of_jobs()
    assert trap.contents() == trap.before
    trap.undo()
    ran = here.run()
    assert ran.code == 0, ran.text
    assert here.text() == "the first"


def test_no_script_but_ours_is_submitted(scene: Any) -> None:
    here = scene()
    trap = Trap(here)
    world = here.slurm.cluster.world
    slow = '#!/bin/sh\ncase $* in *--test-only*) ;; *) touch /tmp/asked; sleep 3;; esac\nexec /usr/bin/sbatch "$@"\n'
    work = f"{trap.mine}/images/{trap.work}"
    theirs = shlex.quote(f"#!/bin/sh\ntouch {here.account.home}/caught\n")
    world.run("sh", "-c", f"printf %s {shlex.quote(slow)} >/usr/local/bin/sbatch; chmod 755 /usr/local/bin/sbatch")
    try:
        runner = Thread(target=here.run, args=("-e", "converge_wait=0"))
        runner.start()
        until(lambda: "asked" in world.run("ls", "/tmp"))
        trap.spring(f"mkdir {work}; printf %s {theirs} >{work}/job.sh; cp {work}/job.sh {work}/mark.json")
        runner.join()
    finally:
        world.run("rm", "-f", "/usr/local/bin/sbatch", "/tmp/asked")
    trap.end_of_jobs()
    assert not here.account.exists("caught")
    assert trap.contents() == trap.before
    trap.undo()
    ran = here.run()
    assert ran.code == 0, ran.text
    assert here.text() == "the first"


def test_an_import_on_the_login_node_stays_in_its_folder(scene: Any) -> None:
    here = scene("wilson")
    trap = Trap(here)
    here.wait_for_imports(4)
    assert here.run("-e", "converge_wait=0").code == 2
    trap.spring(f"ln -s {trap.private} {trap.mine}/images/cache")
    laid = sorted(os.listdir(here.account.path(here.folder)))
    away = here.account.path(f"{trap.mine}-away/images")
    until(lambda: trap.work not in os.listdir(away))
    assert len(os.listdir(away)) == 3, os.listdir(away)  # the image, its note, the link to it
    assert sorted(os.listdir(here.account.path(here.folder))) == laid
    assert trap.contents() == trap.before
    trap.undo()
    ran = here.run()
    assert ran.code == 0, ran.text
    assert set(ran.statuses(here.account.name).values()) == {"ok"}
