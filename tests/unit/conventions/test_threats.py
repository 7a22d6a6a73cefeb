# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SECURITY.md promises is tried by tests that exist, and it can be read."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z_]+)`")
TWO_PAGES = 1100  # words
HELPLESS = ("environment file", "package index")
"""Rows that promise nothing, and say so."""


def rows(heading: str) -> list[list[str]]:
    """The rows of the table below a heading, cell by cell."""
    lines = [line for line in PAGE.partition(heading)[2].partition("\n## ")[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


THREATS = rows("## Possible attackers")


def test_every_named_test_is_there() -> None:
    named = NAMED.findall(PAGE)
    assert len(named) > 15
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), (file, test)


def test_whoever_could_do_harm_is_answered_by_a_test_or_by_nothing_promised() -> None:
    assert len(THREATS) > 9
    for row in THREATS:
        assert len(row) == 4, row
        assert NAMED.search(row[3]) or any(word in row[0] for word in HELPLESS), row[0]
    for word in ("colleague", "root", "login node", "registry", "another user", "profile", *HELPLESS):
        assert any(word in row[0] for row in THREATS), word


def test_every_promise_is_tried_by_a_test() -> None:
    promises = rows("## Promises")
    assert len(promises) > 7
    for row in promises:
        assert len(row) == 2, row
        assert NAMED.search(row[1]), row[0]


def test_it_is_two_pages_without_the_names_of_the_tests() -> None:
    assert len(re.findall(r"\S*\w\S*", NAMED.sub("", PAGE))) <= TWO_PAGES


def test_nothing_of_ours_turns_the_check_of_host_keys_off() -> None:
    off = re.compile(r"host_?key_?checking[\W_]+(?:false|no|off|0)\b|UserKnownHostsFile=", re.IGNORECASE)
    read = [ROOT / "ansible.cfg"]
    for folder in ("plugins", "roles", "playbooks", "inventory", "scripts"):
        read += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".yml", ".json", "")]
    found = [path for path in read if path.is_file() and off.search(path.read_text(encoding="utf-8", errors="ignore"))]
    assert found == []
