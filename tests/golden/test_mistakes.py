# SPDX-License-Identifier: GPL-3.0-or-later
"""Every slip that docs/mistakes.md lists, made with the real command: it says the line that stands there, and no more.

HPC_ONBOARD_GOLDEN=write writes the lines anew.
"""

from __future__ import annotations

import re

import pytest

from tests.effort import turns
from tests.golden.seen import WRITES, place
from tests.golden.test_sandbox import CHECKOUT, Desk

PAGE = CHECKOUT / "docs" / "mistakes.md"
HELP = re.compile(r"(Run|All subcommands): hpc-onboard .*--help.*")
ROW = re.compile(r"(?m)^\| `(?P<slip>.+)` \| ?(?P<said>.*) \|$")
SLIPS = [row["slip"] for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
TOPS = ("accounts", "defaults", "profiles", "sandbox")
WORDS = re.compile(r"^(\[ERROR\]|hpc-onboard[ \w-]*): (error: )?")


def said_of(slip: str) -> str:
    """The line that it says, without the program's name; nothing else is said by it, and nothing was done."""
    words = slip.split()
    with place() as folder:
        desk = Desk(folder)
        if words[0] != "hpc-onboard":
            is_top = slip.startswith(TOPS)
            own = slip if is_top else "accounts:\n  " + slip.replace(" ⏎ ", "\n  ")
            entry = "" if slip.startswith("accounts") or not is_top else "\naccounts: {ada@dfki: }"
            desk.accounts.write_text(f"plugin: hpc.onboard.accounts\n{own}{entry}\n", encoding="utf-8")
            words = ["hpc-onboard", "onboard"]
        before = sorted(path.name for path in folder.iterdir())
        done = desk.client.run(*words, cwd=folder, env={"HPC_ONBOARD_SSH": "none"})
        assert (done.returncode, done.stdout) == (2, ""), done.stdout + done.stderr
        assert sorted(path.name for path in folder.iterdir()) == before
        lines = [line for line in done.stderr.splitlines() if line and not line.startswith("usage: ")]
    assert [line for line in lines[1:] if not HELP.fullmatch(line)] == []
    return WORDS.sub("", lines[0]).replace("|", r"\|")


def test_there_are_forty_and_each_once() -> None:
    assert len(set(SLIPS)) == len(SLIPS) >= 40


@turns(12)
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_says_the_line_of_the_page(slip: str) -> None:
    said = said_of(slip)
    text = PAGE.read_text(encoding="utf-8")
    if WRITES:
        text = ROW.sub(lambda row: f"| `{slip}` | {said} |" if row["slip"] == slip else row[0], text)
        PAGE.write_text(text, encoding="utf-8")
    assert {row["slip"]: row["said"] for row in ROW.finditer(text)}[slip] == said
