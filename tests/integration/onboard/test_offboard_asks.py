# SPDX-License-Identifier: GPL-3.0-or-later
"""Offboarding shows what it will take out and asks the person at the terminal; without one it takes nothing out."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pexpect
import pytest

from tests.integration.runs import COMMAND, REPOSITORY, play

from .test_offboard import tree

pytestmark = pytest.mark.testbed


class Person:
    """Somebody with two accounts that are set up, one of them with a key that they have changed since."""

    def __init__(self, bed: Any) -> None:
        self.bed = bed
        self.accounts = [bed.new_account("lrz"), bed.new_account("wilson")]
        self.inventory = str(bed.accounts_file(self.accounts))
        assert play(bed, "-i", self.inventory).code == 0
        self.accounts[0].ssh("ln -sfn /tmp ~/dss")
        self.reset()

    def reset(self) -> None:
        """Begin with no connection open and nothing counted."""
        self.bed.client.disconnect()
        for one in self.accounts:
            one.reset_sessions()

    def trees(self) -> list[dict[str, tuple[Any, ...]]]:
        """What lies on the accounts."""
        return [tree(one) for one in self.accounts]

    def trips(self) -> list[tuple[int, int]]:
        """The connections to each account and the command sessions on it, since reset."""
        return [(one.logins(), one.sessions()) for one in self.accounts]

    def at_terminal(self, *order: str, answer: str) -> tuple[int, str, str]:
        """The exit code of the command, what was shown before the question, and after; without one none is asked."""
        program = COMMAND
        words = ["offboard", "-i", self.inventory, *order]
        environment = {**self.bed.client.environment(), "TERM": "dumb"}
        run = pexpect.spawn(program, words, cwd=str(REPOSITORY), env=environment, encoding="utf-8", timeout=60)
        shown = ""
        if answer:
            run.expect(r"Remove this\? \[y/N\] ")
            shown = run.before
            run.send(f"{answer}\r")
        run.expect(pexpect.EOF)
        run.close()
        return int(run.exitstatus or 0), " ".join(shown.split()), " ".join((run.before or "").split())


@pytest.fixture(scope="module")
def person(bed: Any) -> Person:
    return Person(bed)


def test_without_a_terminal_nothing_is_touched_and_the_command_that_needs_none_is_said(person: Person) -> None:
    before = person.trees()
    order = ("-i", person.inventory, "-l", "lrz,wilson", "-e", "offboard_only=undeclared", "--tags", "storage_links")
    ran = play(person.bed, *order, playbook="offboard.yml")
    said = " ".join(ran.text.split())
    assert (ran.code, person.trips(), person.trees()) == (2, [(0, 0)] * 2, before), said
    command = re.fullmatch(
        r"\[ERROR\]: nothing was removed: you did not confirm\. To confirm in advance, run: (.*)", said
    )
    assert command, said
    assert shlex.split(command[1]) == [
        *("ansible-playbook", "-i", person.inventory, "offboard.yml", "--tags", "storage_links", "-l", "lrz,wilson"),
        *("-e", "offboard_only=undeclared", "-e", "offboard_sure=true"),
    ]


def test_a_value_that_is_neither_yes_nor_no_is_one_error(person: Person) -> None:
    ran = play(person.bed, "-i", person.inventory, "-e", "offboard_sure=perhaps", playbook="offboard.yml")
    said = "[ERROR]: offboard_sure is 'perhaps', but must be true or false"
    assert (ran.code, " ".join(ran.text.split()), person.trips()) == (2, said, [(0, 0)] * 2)


def test_it_is_shown_and_done_when_a_person_agrees(person: Person) -> None:
    before = person.trees()
    code, shown, after = person.at_terminal(answer="n")
    assert (code, person.trees()) == (0, before), after
    assert "Cancelled. Nothing was changed." in after
    for said in (
        "- folder ~/enroot",
        "link ~/dss: not removed, because this resource has been changed since hpc-onboard wrote it",
        "- link ~/work",
    ):
        assert said in shown
    person.reset()
    code, shown, after = person.at_terminal(answer="y")
    assert code == 0, after
    assert person.trips() == [(1, 2)] * 2, "one connection to each account, to look and to do it"
    totals = re.search(r"2 accounts: 0 to create, 0 to change, (\d+) to remove", shown)
    assert totals, shown
    assert int(totals[1]) == len(re.findall(r"- removed (\S+ \S+)", after))
    left = {path for one, now in zip(person.accounts, person.trees(), strict=True) for path in now if one.home in path}
    assert {path for path in left if re.search(r"/(enroot|\.apptainer|work|wclustre|env\.)", path)} == set()
    assert f"{person.accounts[0].home}/dss" in left
    code, shown, after = person.at_terminal(answer="")
    assert code == 0, "of accounts that hold nothing, nobody is asked"
