# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of waivers: what it may say, and the one error with its line where it says something else."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.waivers import read_waivers
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes

TODAY = date(2026, 11, 21)
GOOD = """waivers:
  - rule: ENV-001
    account: "*@lrz"
    justification: the site moves the home in spring
    expires: "2027-03-01"
    by: ada
"""


def written(folder: Path, text: str) -> Path:
    """A file with this text."""
    file = folder / "waivers.yml"
    file.write_text(text)
    return file


def test_what_is_written_is_read(tmp_path: Path) -> None:
    (waiver,) = read_waivers(written(tmp_path, GOOD), TODAY)
    assert (waiver.rule, waiver.account, waiver.resource, waiver.by) == ("ENV-001", "*@lrz", "*", "ada")
    assert waiver.where.endswith("waivers.yml:2")


def test_a_day_needs_no_quotes(tmp_path: Path) -> None:
    assert read_waivers(written(tmp_path, GOOD.replace('"2027-03-01"', "2027-03-01")), TODAY)[0].expires == "2027-03-01"


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("rule: ENV-001", "rule: ENV-999", 2, "unknown rule"),
        ("rule: ENV-001", "rule: env", 2, "ENV-001"),
        ("    by: ada\n", "    bye: ada\n", 6, "bye"),
        ("    justification: the site moves the home in spring\n", "", 2, "justification"),
        ('"2027-03-01"', '"2027-02-30"', 5, "is not a date"),
        ('"2027-03-01"', '"2028-03-01"', 5, "at most a year"),
        ("rule: ENV-001", "rule: SEC-001", 5, "30 days"),
        ('"2027-03-01"', "soon", 5, "day"),
        ("waivers:\n", "waiver:\n", 1, "waiver"),
        (GOOD, "", 0, "waivers"),
        (GOOD, "waivers: [\n", 0, ""),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    with pytest.raises(Mistakes) as raised:
        read_waivers(written(tmp_path, GOOD.replace(old, new)), TODAY)
    text = str(raised.value)
    assert said in text
    assert f"waivers.yml:{line}" in text or not line


def test_no_waivers_are_none(tmp_path: Path) -> None:
    assert read_waivers(written(tmp_path, "waivers: []\n"), TODAY) == []
    assert read_waivers(written(tmp_path, "waivers:\n"), TODAY) == []
