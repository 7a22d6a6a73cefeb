"""The cheat sheet of a cluster: it shows what only people read, and fits the terminal.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.field_types import PEOPLE
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.fields import FIELDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Catalogue, schema
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.cheatsheet import summarise_sources
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.cheatsheet import (
    SourceSummary,
    build_one_screen,
    build_sheet,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import (
    Terminal,
    join_lines,
    plain_text,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.cells import count_cells

from tests.effort import clusters

SHOWN = {field.name for field in FIELDS if field.reader == PEOPLE or field.label}
CLUSTERS = sorted(Catalogue().ids())


def marked(node: dict[str, Any], place: str = "") -> Any:
    """A profile with every field, in which every text that people read says where it stands."""
    if "$ref" in node:
        node = {**schema("cluster")["$defs"][node["$ref"].rpartition("/")[2]], **node}
    properties = node.get("properties")
    if properties:
        return {key: marked(each, f"{place}.{key}".strip(".")) for key, each in properties.items() if key != "source"}
    if isinstance(node.get("additionalProperties"), dict):
        return {"word": marked(node["additionalProperties"], place)}
    if node.get("type") == "array":
        return [marked(node["items"], place + "[]")]
    if place.removesuffix("[]") in SHOWN and node.get("type") == "string":
        return f"<{place.removesuffix('[]')}>"
    kinds = {"integer": 7, "number": 7.5, "boolean": True}
    return node["enum"][0] if "enum" in node else kinds.get(str(node.get("type")), "word")


def complete() -> dict[str, Any]:
    return {**marked(schema("cluster")), "sandbox_environment": {}}


def screen(cluster: str, day: str = "", width: int = 100) -> list[str]:
    """The short sheet of a cluster, with the ages of its sources on a day."""
    known = Catalogue().sourced_profile(cluster)
    sources = summarise_sources(known, day) if day else SourceSummary()
    return list(map(plain_text, build_one_screen(known.profile, "x --all", sources, Terminal(width))))


def sheet(cluster: str) -> str:
    """The whole sheet of a cluster, in one line."""
    lines = build_sheet(Catalogue().sourced_profile(cluster).profile, SourceSummary(), Terminal(width=100))
    return " ".join(join_lines(lines).split())


def test_what_only_people_read_is_shown_and_what_has_a_label():
    text = join_lines(build_sheet(complete(), SourceSummary(), Terminal(width=4000)))
    texts = SHOWN - {"home.backup", "storage[].backup", "storage[].hard_bytes", "storage[].grace_days"}
    assert {field for field in texts if f"<{field}>" not in text} == set()
    assert text.count("backed up") == 2


@pytest.mark.parametrize("cluster", clusters(CLUSTERS))
@pytest.mark.parametrize("width", [40, 80, 100])
def test_it_fits_the_terminal(cluster, width):
    known = Catalogue().sourced_profile(cluster)
    lines = build_sheet(known.profile, SourceSummary(), Terminal(width=width))
    assert max(count_cells(plain_text(line)) for line in lines) <= width
    assert "{" not in join_lines(lines)
    for heading in ("Login", "Storage", "Running jobs", "Manual steps", "More"):
        assert f"\n{heading}\n" in join_lines(lines)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_what_a_newcomer_needs_first_is_in_25_lines(cluster):
    profile, lines = Catalogue().sourced_profile(cluster).profile, screen(cluster, "2026-11-25", width=80)
    assert len(lines) <= 25
    assert max(map(count_cells, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    login, scheduler = profile["login"], profile.get("scheduler", {})
    usual = re.findall(r"--partition=(\S+)", scheduler.get("gpu", "")) or scheduler.get("partitions", [])
    said = [login["host"], *login.get("host_keys", []), *(area["name"] for area in profile["storage"]), *usual[:1]]
    said += [scheduler.get("gpu", "jobs"), *([] if "policies" not in profile else ["Rules of the site"]), "--all"]
    assert [words for words in said if words not in text] == []
    assert len(lines) < len(build_sheet(profile, SourceSummary(), Terminal(width=80)))


def test_the_first_line_has_the_age_of_the_oldest_text_and_old_facts_are_marked():
    lines = screen("iris", "2026-11-25")
    assert lines[0].startswith("ULHPC Iris  iris, documented, oldest source 13 months old, checked 2026-11-25; * older")
    assert [line.split()[0] for line in lines[1:] if line.endswith(" *")] == ["containers"]
    assert not any(" *" in line for line in screen("iris"))


@pytest.mark.parametrize(
    ("cluster", "hours"), [("clariden", 12), ("sherlock", 48), ("wilson", 24), ("lumi", 72), ("cirrus", 48)]
)
def test_hours_are_those_of_the_partition_that_a_job_gets(cluster, hours):
    assert any(f"Slurm, at most {hours} hours" in line for line in screen(cluster))


def test_a_soft_limit_is_told_with_the_hard_one():
    assert "1 TB (20 TB for 60 days)" in sheet("nibi")


def test_manual_steps_have_their_addresses():
    assert "Be invited to a project by its principal investigator. https://portal.cscs.ch" in sheet("daint")
