# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of what becomes of each step of five tutorials names only what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.subcommands import SUBCOMMANDS

from tests.integration.runs import REPOSITORY

PAGE = REPOSITORY / "docs" / "five_documents.md"
ID = r"(?m)^  - id: (\w+)$"
MARKS = ("kept", "job", "seen", "yours", "told", "not")
TEMPLATES = REPOSITORY / "roles" / "job_scripts" / "files"
PROFILES = REPOSITORY / "inventory" / "clusters"


def rows() -> Iterator[tuple[str, str, str]]:
    """Step, mark and answer of each row."""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and cells[0] != "step":
            step, mark, answer = cells
            yield step, mark.strip("*"), answer


def named(pattern: str) -> set[str]:
    """What the answers name so."""
    return {one for _step, _mark, answer in rows() for one in re.findall(pattern, answer)}


def test_each_step_has_an_answer_of_a_known_kind() -> None:
    found = list(rows())
    assert len(found) > 150
    assert {mark for _step, mark, _answer in found} == set(MARKS)
    assert all(answer for _step, _mark, answer in found)


@pytest.mark.parametrize(
    ("pattern", "there"),
    [
        (r"role `(\w+)`", {role.name for role in (REPOSITORY / "roles").iterdir()}),
        (r"`hpc-onboard ([a-z-]+)", set(SUBCOMMANDS)),
        (r"[A-Z]{3}-\d{3}", set(re.findall(r"[A-Z]{3}-\d{3}", (REPOSITORY / "docs" / "rules.md").read_text()))),
        (r"templates? `(\w+)`", {file.name.partition(".")[0] for file in TEMPLATES.iterdir()}),
        (r"step `(\w+)`", {one for file in PROFILES.rglob("*.yml") for one in re.findall(ID, file.read_text())}),
    ],
)
def test_what_an_answer_names_is_there(pattern: str, there: set[str]) -> None:
    assert named(pattern)
    assert named(pattern) <= there
