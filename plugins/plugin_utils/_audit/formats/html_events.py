# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of the HTML page: an entry for each event with what its findings share, and a row for each finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from ..._documents.finding import Finding
from ..._documents.fix import Fix, FixPart, describe_fix, render_in_one_line
from ..rules.catalogue import RULES, SEVERITIES
from .groups import FindingGroup, age, group_findings
from .shared import CAUSES, declared, fields, help_url, without_choice, words

MOST = 300  # events; with more of them, those of one rule are one
LEFT_OUT = ("fingerprint", "declared in")  # facts that no two accounts share, and that no row has room for
LONGEST = 80  # characters of a value in a row

States = Sequence[tuple[str, str, str]]


class FindingRow(NamedTuple):
    """One finding of an event: its number in the report, and what it does not share with the others."""

    number: int
    finding: Finding
    text: str
    states: States
    diff: Sequence[str]
    facts: Mapping[str, str]
    fix: str


class PageEvent(NamedTuple):
    """The findings of one event, and what all of them share. clusters: name and rows of each."""

    group: FindingGroup
    is_new: bool
    is_waived: bool
    place: str
    states: States
    fix: Sequence[FixPart]
    facts: Mapping[str, str]
    rule: str
    url: str
    clusters: Sequence[tuple[str, Sequence[FindingRow]]]


def list_events(findings: Sequence[Finding]) -> Iterator[tuple[str, int, list[PageEvent]]]:
    """Yield each severity with its number of findings and its events."""
    numbers = {id(finding): number for number, finding in enumerate(findings)}
    events = [_event(group, numbers) for group in group_findings(findings, MOST)]
    for severity in SEVERITIES:
        alike = [event for event in events if event.group.severity == severity]
        if alike:
            yield severity, sum(event.group.number for event in alike), alike


def _event(group: FindingGroup, numbers: Mapping[int, int]) -> PageEvent:
    first, every = group.first, group.findings
    facts, states, fixes = _shared_facts(every), _shared_states(every), [_unchosen(one["fix"]) for one in every]
    is_one_fix = all(one == fixes[0] for one in fixes)
    is_one_text = len({one["text"] for one in every}) == 1
    rows = sorted(
        (_row(group, one, numbers[id(one)], facts, (is_one_text, bool(states), is_one_fix)) for one in every),
        key=_cluster,
    )
    rule = RULES.get(first["rule"])
    return PageEvent(
        group,
        all(one["new"] for one in every),
        all(one["waiver"] for one in every),
        group.place,
        states,
        _shared_fix(every, fixes[0]) if is_one_fix else [],
        facts,
        f"{first['rule']}: {rule.title if rule else 'a rule of another version'}",
        help_url(first["help"]),
        [(name, list(alike)) for name, alike in groupby(rows, key=_cluster)],
    )


def _row(
    group: FindingGroup, finding: Finding, number: int, facts: Mapping[str, str], shared: tuple[bool, bool, bool]
) -> FindingRow:
    """Return the row of a finding. facts: those of the whole event; shared: whether text, states and fix are, too."""
    is_one_text, has_states, is_one_fix = shared
    left_out = {*facts, *LEFT_OUT, *(() if is_one_text else ("resource",))}  # which the text names
    states = (
        [] if has_states else [(name, _cut(wanted), _cut(found)) for name, wanted, found in fields(finding) if found]
    )
    return FindingRow(
        number,
        finding,
        "" if is_one_text else finding["text"],
        states,
        [] if group.diff else finding["diff"],
        {name: value for name, value in _facts(finding).items() if name not in left_out},
        "" if is_one_fix else render_in_one_line(finding["fix"]),
    )


def _shared_states(findings: Sequence[Finding]) -> States:
    first = fields(findings[0])
    return first if all(fields(one) == first for one in findings) else []


def _shared_facts(findings: Sequence[Finding]) -> dict[str, str]:
    every = [_facts(one) for one in findings]
    return {name: value for name, value in every[0].items() if all(one.get(name) == value for one in every)}


def _cut(value: str) -> str:
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"


def _cluster(row: FindingRow) -> str:
    return row.finding["account"].rpartition("@")[2]


def _shared_fix(findings: Sequence[Finding], unchosen: Fix) -> list[FixPart]:
    """Return the steps for all findings: without -l and --tags a command does the work of all accounts."""
    return describe_fix(findings[0]["fix"] if len(findings) == 1 else unchosen)


def _unchosen(fix: Fix) -> Fix:
    return [
        {**step, "command": list(without_choice(step["command"]))}
        if step["kind"] == "command" and step["where"] == "here"
        else step
        for step in fix
    ]


def _facts(finding: Finding) -> dict[str, str]:
    """Return the further facts about a finding by name."""
    waiver = finding["waiver"]
    facts = {
        "resource": finding["resource"],
        "place": finding["place"],
        "capability": words(finding["capability"]),
        "class": words(finding["class"]),
        "cause": CAUSES[finding["cause"]],
        "seen": age(finding),
        "declared in": declared(finding),
        "fingerprint": finding["fingerprint"][:23],
    }
    if waiver:
        facts["waived"] = f"until {waiver['expires']} by {waiver['by']}: {waiver['justification']} ({waiver['where']})"
    return {name: value for name, value in facts.items() if value}
