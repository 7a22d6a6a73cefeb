# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose is what, over real ssh: what we made goes again, whoever asks; what a person made or changed is theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import Ran, play

pytestmark = pytest.mark.testbed

KEYS = "enroot/.credentials"


def tree(account: Any) -> dict[str, tuple[Any, ...]]:
    """What lies on an account: kind, mode and content of each path."""
    return {path: (entry.kind, entry.mode, entry.content) for path, entry in account.tree().items()}


class Desk:
    """A laptop with its own records."""

    def __init__(self, bed: Any, account: Any, state: Path) -> None:
        self._bed, self._inventory, self._state = bed, str(bed.accounts_file([account])), state

    def run(self, playbook: str, *more: str) -> Ran:
        """A run of a playbook; what it printed stands in one line."""
        environment = {"XDG_STATE_HOME": str(self._state)}
        ran = play(self._bed, "-i", self._inventory, *more, playbook=playbook, environment=environment)
        return ran._replace(text=" ".join(ran.text.split()))


def test_what_another_machine_made_or_whose_answer_was_lost_is_taken_out_all_the_same(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("lrz")
    before = tree(account)
    first, other = Desk(bed, account, tmp_path / "first"), Desk(bed, account, tmp_path / "other")
    assert first.run("onboard.yml").code == 0
    made = tree(account)
    account.reset_sessions()
    preview = other.run("offboard.yml", "--check")
    assert preview.code == 0, preview.text
    assert (tree(account), account.sessions()) == (made, 2), "once more, for what the account alone knows of"
    done = other.run("offboard.yml", "-e", "offboard_sure=true")
    assert done.code == 0, done.text
    assert tree(account) == before
    account.reset_sessions()
    again = other.run("offboard.yml", "-e", "offboard_sure=true")
    assert (again.code, account.sessions(), tree(account)) == (0, 1, before), again.text
    assert "not removed" not in again.text, "of what is not there, nothing is said"


def test_what_a_person_changed_stays_and_is_said(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("lrz")
    before = tree(account)
    desk = Desk(bed, account, tmp_path)
    assert desk.run("onboard.yml").code == 0
    account.ssh(f"sed -i s/kkkk/jjjj/ {KEYS} && ln -sfn /tmp ~/dss")
    keys = account.read(KEYS)
    done = desk.run("offboard.yml", "-e", "offboard_sure=true")
    assert done.code == 0, done.text
    assert done.text.count("not removed, because this resource has been changed since hpc-onboard wrote it") >= 2
    left = {path: entry for path, entry in tree(account).items() if path not in before}
    assert account.read(KEYS) == keys
    assert left[f"{account.home}/dss"][0] == "link"
    names = {path.removeprefix(f"{account.home}/") for path in left}
    assert names <= {"dss", "enroot", KEYS, ".config", ".config/hpc.onboard", ".config/hpc.onboard/receipt.json"}


def test_a_link_of_a_persons_own_is_never_turned(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("lrz")
    account.ssh("mkdir teamdir && ln -s teamdir dss")
    desk = Desk(bed, account, tmp_path)
    ran = desk.run("onboard.yml")
    assert ran.code == 2, ran.text
    why = "~/dss is a link to teamdir that hpc-onboard did not create: rename it (mv -n ~/dss ~/dss.mine)"
    assert f"{why}, then run hpc-onboard again" in ran.text
    assert tree(account)[f"{account.home}/dss"][2] in (b"", b"teamdir", "teamdir")
    audit = desk.run("audit.yml")
    assert (audit.code, "LNK-002" in audit.text) == (2, True), audit.text
    assert desk.run("offboard.yml", "-e", "offboard_sure=true").code == 0
    assert {"dss", "teamdir"} == {path.removeprefix(f"{account.home}/") for path in tree(account)} & {"dss", "teamdir"}
