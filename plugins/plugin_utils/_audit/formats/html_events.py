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
IDENTIFYING = ("fingerprint",)  # facts that no two findings share, and that no row has room for

States = Sequence[tuple[str, str, str]]


class Row(NamedTuple):
    """One finding of an event: its number in the report, and what it does not share with the others."""

    number: int
    finding: Finding
    text: str
    states: States
    diff: Sequence[str]
    facts: Mapping[str, str]
    fix: str


class Event(NamedTuple):
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
    clusters: Sequence[tuple[str, Sequence[Row]]]


def list_events(findings: Sequence[Finding]) -> Iterator[tuple[str, int, list[Event]]]:
    """Yield each severity with its number of findings and its events."""
    numbers = {id(finding): number for number, finding in enumerate(findings)}
    events = [_event(group, numbers) for group in group_findings(findings, MOST)]
    for severity in SEVERITIES:
        alike = [event for event in events if event.group.severity == severity]
        if alike:
            yield severity, sum(event.group.number for event in alike), alike


def _event(group: FindingGroup, numbers: Mapping[int, int]) -> Event:
    first, every = group.first, group.findings
    facts = [_facts(one) for one in every]
    same = {name: value for name, value in facts[0].items() if all(one.get(name) == value for one in facts)}
    states = [fields(one) for one in every]
    shared_states = states[0] if all(one == states[0] for one in states) else []
    fixes = [_unchosen(one["fix"]) for one in every]
    is_one_fix = all(one == fixes[0] for one in fixes)
    rule = RULES.get(first["rule"])
    rows = [
        Row(
            numbers[id(one)],
            one,
            "" if one["text"] == group.text else one["text"],
            [] if shared_states else fields(one),
            [] if group.diff else one["diff"],
            {name: value for name, value in fact.items() if name not in same and name not in IDENTIFYING},
            "" if is_one_fix else render_in_one_line(one["fix"]),
        )
        for one, fact in zip(every, facts, strict=True)
    ]
    return Event(
        group,
        all(one["new"] for one in every),
        all(one["waiver"] for one in every),
        group.place,
        shared_states,
        _shared_fix(every, fixes[0]) if is_one_fix else [],
        same,
        f"{first['rule']}: {rule.title if rule else 'a rule of another version'}",
        help_url(first["help"]),
        [(name, list(alike)) for name, alike in groupby(sorted(rows, key=_cluster), key=_cluster)],
    )


def _cluster(row: Row) -> str:
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
