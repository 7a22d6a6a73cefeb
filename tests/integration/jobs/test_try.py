# SPDX-License-Identifier: GPL-3.0-or-later
"""try.yml on a real Slurm: what one small job says, that it is submitted once, and that nothing of it is left."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import Ran, play

pytestmark = [pytest.mark.testbed, turns(5)]

FOLDER = ".hpc.onboard-try"


class Person:
    """A person whose account on a cluster with a Slurm is set up."""

    def __init__(self, bed: Any, site: str, project: str = "deep_lgt") -> None:
        self.bed, self.slurm, self.account = bed, bed.slurm(site), bed.new_account(site, project=project)
        self.slurm.admit(self.account)
        assert self.runs("onboard.yml").code == 0

    def runs(self, playbook: str = "try.yml", *words: str) -> Ran:
        """Run a playbook over the account."""
        return play(self.bed, "-i", str(self.bed.accounts_file([self.account])), *words, playbook=playbook)

    def tried(self, ran: Ran) -> dict[str, Any]:
        """What was tried -> why it does not work, None where it does."""
        (found,) = [one["result"] for one in ran.results if one["action"] == "hpc.onboard.try_out"]
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
    ran = person.runs("try.yml", "-e", "try_gpu=true")
    assert ran.code == 0, ran.text
    tried = person.tried(ran)
    assert tried["~ can be written"] is None
    assert tried["a GPU is seen"] is None
    assert "~/.apptainer/docker-config.json is found, for you alone" in tried
    assert set(tried.values()) == {None}
    assert "no Internet here" in ran.text
    assert person.is_clean()
    assert person.submitted() == 1


def test_what_does_not_work_is_told(bed: Any) -> None:
    person = Person(bed, "dfki")
    person.account.ssh("chmod 644 .config/enroot/.credentials enroot/.credentials; rm -f .config/hpc.onboard/env.sh")
    ran = person.runs()
    assert ran.code == 2, ran.text
    tried = person.tried(ran)
    (key,) = [why for what, why in tried.items() if what.endswith("for you alone")]
    assert key == "its mode is 644"
    assert tried["the environment loads"] == "it is not there"
    assert tried["nvcr.io is reached"]
    assert tried["~ can be written"] is None
    assert person.is_clean()


def test_a_job_that_waits_is_submitted_once_and_found_again(bed: Any) -> None:
    person = Person(bed, "pegasus")
    person.slurm.pause("RTX3090")
    try:
        first = person.runs("try.yml", "-e", "try_wait=4")
        again = person.runs("try.yml", "-e", "try_wait=4")
        assert (first.code, again.code) == (2, 2)
        assert "is queued" in again.text
        assert "run again to wait for it" in " ".join(again.text.split())
        assert len(person.slurm.jobs(person.account, running=True)) == 1
    finally:
        person.slurm.resume("RTX3090")
    done = person.runs()
    assert person.tried(done)["~ can be written"] is None
    assert person.submitted() == 1
    assert person.is_clean()


def test_offboarding_cancels_a_job_that_waits(bed: Any) -> None:
    person = Person(bed, "pegasus")
    person.slurm.pause("RTX3090")
    try:
        assert person.runs("try.yml", "-e", "try_wait=2").code == 2
        ran = person.runs("offboard.yml", "-e", "offboard_sure=true")
        assert ran.code == 0, ran.text
        assert person.is_clean()
    finally:
        person.slurm.resume("RTX3090")


def test_a_check_run_asks_slurm_and_submits_nothing(bed: Any) -> None:
    person = Person(bed, "narval")
    assert person.runs("try.yml", "--check").code == 0
    assert person.slurm.jobs(person.account) == []
    person.slurm.dismiss(person.account, person.account.project)
    refused = person.runs("try.yml", "--check", "-e", "try_wait=1")
    assert refused.code == 2
    assert person.is_clean()
