# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of what becomes of each step of five tutorials names only what there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Catalogue
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.subcommands import SUBCOMMANDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.cheatsheet import SourceSummary, build_sheet
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Terminal, join_lines

from tests.integration.runs import REPOSITORY

PAGE = REPOSITORY / "docs" / "five_documents.md"
ID = r"(?m)^  - id: (\w+)$"
MARKS = ("automatic", "job", "checked", "manual", "documented", "unsupported")
TEMPLATES = REPOSITORY / "roles" / "job_scripts" / "files"
PROFILES = REPOSITORY / "inventory" / "clusters"
TOLD = {  # by the cheat sheet of each cluster: what it must show for the steps of its section that are told
    "lrz": {
        "Ask the data curator": "its data curator makes them",
        "Sign in at the web front end": "https://login.ai.lrz.de, Interactive Apps",
        "Do not mount data": "a link in the home does",
        "Know that enroot": "enroot, only on compute nodes",
        "Do not run `squeue`": "Do not ask the scheduler in a loop",
    },
    "dfki": {
        "`squeue`, `scancel`": "squeue --me lists your jobs, scancel JOB cancels a job, sattach JOB.0",
        "`squeue`": "stays at hand in screen (Ctrl-a Ctrl-d leaves it, screen -r comes back)",
        "Copy data with scp": "scp, from your own machine",
    },
    "wilson": {
        "Choose among opp": "opp: At most 8 hours and 50 submitted jobs",
        "Never mix GPU types": "Ask for one kind of GPU per job",
        "Move data with Globus": "the endpoint fnal#wilson",
    },
    "narval": {
        "Forward X11": "ssh -Y shows windows",
        "Share a folder": "make a special folder for what it is to write",
        "Build against HDF5": "hdf5-mpi and hdf5",
        "Scratch is purged": "deleted 60 days after",
        "Copy with the transfer": "narval.alliancecan.ca is the transfer node",
        "Move data with Globus": 'the collection "Compute Canada - Narval"',
        "`/tmp` is memory": "/tmp is memory",
    },
    "daint": {
        "Do not share an account": "Accounts are not shared",
        "Look at the project": "budget https://portal.cscs.ch",
        "Ask for help by ticket": "By ticket at https://support.cscs.ch",
        "Copy data through": "a job in the partition xfer",
        "Move data with Globus": "search for the endpoint CSCS",
    },
}
ELSEWHERE = ("Learn the project", "Prefer a personal key", "No `sudo`")  # told by other subcommands, or by nothing


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
    assert sum(mark == "unsupported" for _step, mark, _answer in found) <= 8


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


@pytest.mark.parametrize("cluster", TOLD)
def test_the_cheat_sheet_shows_what_the_page_says_it_tells(cluster: str) -> None:
    known = Catalogue().sourced_profile(cluster)
    assert known
    text = " ".join(join_lines(build_sheet(known.profile, SourceSummary(), Terminal(width=4000))).split())
    assert [words for words in TOLD[cluster].values() if words not in text] == []


def test_each_step_that_is_told_is_looked_for_in_a_cheat_sheet() -> None:
    looked_for = (*ELSEWHERE, *(step for steps in TOLD.values() for step in steps))
    assert [step for step, mark, _answer in rows() if mark == "documented" and not step.startswith(looked_for)] == []


def test_each_step_that_is_done_is_tried_by_a_test() -> None:
    """five_documents.json names it: document -> step -> file::test. A step whose test is gone fails, too."""
    tried: dict[str, dict[str, str]] = json.loads(Path(__file__).with_suffix(".json").with_stem(PAGE.stem).read_text())
    document, steps = "", set()
    for line in PAGE.read_text().splitlines():
        document = line[3:] if line.startswith("## ") else document
        if re.search(r"\| \*\*(automatic|job|checked)\*\* \|", line):
            steps.add((document, line.strip("|").split(" | ")[0].strip()))
    assert steps == {(document, step) for document, those in tried.items() for step in those}
    for place in {place for those in tried.values() for place in those.values()}:
        file, _colons, test = place.partition("::")
        assert f"\ndef {test}(" in (REPOSITORY / file).read_text(), place
