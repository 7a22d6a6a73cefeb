# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of the HTML page: an entry for each event, with the common facts of its findings and a row for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from ..._documents.finding import Finding
from ..._documents.fix import Fix, FixPart, describe_fix, render_in_one_line
from ..rules.catalogue import RULES, SEVERITIES
from .groups import FindingGroup, describe_age, group_findings
from .shared import CAUSES, describe_waiver, help_url, list_fields, remove_selection, show_declaration, spell_out

MOST = 300  # events; if there are more, findings are grouped more coarsely
NOT_IN_ROWS = ("fingerprint", "declared in")  # facts that differ for each account and are too long for a row
LONGEST = 80  # characters of a value in a row, where longer values are cut

States = Sequence[tuple[str, str, str]]
"""Name, desired value and actual value of each field."""


class FindingRow(NamedTuple):
    """One finding of an event: its number in the report, and what differs from the event's other findings."""

    number: int
    finding: Finding
    text: str
    states: States
    diff: Sequence[str]
    facts: Mapping[str, str]
    fix: str


class CommonParts(NamedTuple):
    """The parts that all findings of an event share. The event shows these parts, so its rows omit them."""

    text: bool
    states: bool
    fix: bool


class PageEvent(NamedTuple):
    """An event. states, fix, facts: the parts that all its findings share. rule: id and title. url: of the rule.

    clusters: name of each cluster, and the rows of its findings.
    """

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
    """Yield each severity that occurs, the worst first, with its number of findings and its events."""
    numbers = {id(finding): number for number, finding in enumerate(findings)}  # a finding is a dict, which has no hash
    events = [_build_event(group, numbers) for group in group_findings(findings, MOST)]
    for severity in SEVERITIES:
        of_severity = [event for event in events if event.group.severity == severity]
        if of_severity:
            yield severity, sum(event.group.number for event in of_severity), of_severity


def _build_event(group: FindingGroup, numbers: Mapping[int, int]) -> PageEvent:
    """Return the event of a group. numbers: id() of a finding -> its number in the report."""
    first, findings = group.first, group.findings
    facts, states = _find_common_facts(findings), _find_common_states(findings)
    fixes = [_generalise_fix(finding["fix"]) for finding in findings]
    common = CommonParts(
        text=len({finding["text"] for finding in findings}) == 1,
        states=bool(states),
        fix=all(fix == fixes[0] for fix in fixes),
    )
    rows = [_build_row(group, finding, numbers[id(finding)], facts, common) for finding in findings]
    rows.sort(key=_name_cluster)
    fix = first["fix"] if len(findings) == 1 else fixes[0]  # for a single finding, with its account and role
    rule = RULES.get(first["rule"])
    return PageEvent(
        group=group,
        is_new=all(finding["new"] for finding in findings),
        is_waived=all(finding["waiver"] for finding in findings),
        place=group.place,
        states=states,
        fix=describe_fix(fix) if common.fix else [],
        facts=facts,
        rule=f"{first['rule']}: {rule.title if rule else 'rule from a different version of hpc-onboard'}",
        url=help_url(first["help"]),
        clusters=[(cluster, list(of_cluster)) for cluster, of_cluster in groupby(rows, key=_name_cluster)],
    )


def _build_row(
    group: FindingGroup, finding: Finding, number: int, facts: Mapping[str, str], common: CommonParts
) -> FindingRow:
    """Return the row of a finding, without the parts that the event shows.

    group: the findings of the event. number: of the finding in the report. facts, common: the facts and the parts that
    the event shows.
    """
    hidden = {*facts, *NOT_IN_ROWS}
    if not common.text:
        hidden.add("resource")  # the row's text names the resource
    fields = [] if common.states else list_fields(finding)  # a row shows only those that exist on the account
    return FindingRow(
        number=number,
        finding=finding,
        text="" if common.text else finding["text"],
        states=[(name, _cut(desired), _cut(actual)) for name, desired, actual in fields if actual],
        diff=[] if group.diff else finding["diff"],
        facts={name: value for name, value in _list_facts(finding).items() if name not in hidden},
        fix="" if common.fix else render_in_one_line(finding["fix"]),
    )


def _find_common_states(findings: Sequence[Finding]) -> States:
    """Return the fields that all findings have with the same values; none unless all fields are the same."""
    first = list_fields(findings[0])
    return first if all(list_fields(finding) == first for finding in findings) else []


def _find_common_facts(findings: Sequence[Finding]) -> dict[str, str]:
    """Return label -> value of each fact that is the same for all findings."""
    first, *others = [_list_facts(finding) for finding in findings]
    return {name: value for name, value in first.items() if all(facts.get(name) == value for facts in others)}


def _cut(value: str) -> str:
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"


def _name_cluster(row: FindingRow) -> str:
    """Return the part of the account's name after '@', by which an event's rows are sorted and grouped."""
    return row.finding["account"].rpartition("@")[2]


def _generalise_fix(fix: Fix) -> Fix:
    """Return a fix whose commands on this machine are for all accounts and roles."""
    return [
        {**step, "command": list(remove_selection(step["command"]))}
        if step["kind"] == "command" and step["where"] == "here"
        else step
        for step in fix
    ]


def _list_facts(finding: Finding) -> dict[str, str]:
    """Return label -> value of the facts about a finding. Empty facts are omitted."""
    waiver = finding["waiver"]
    facts = {
        "resource": finding["resource"],
        "place": finding["place"],
        "capability": spell_out(finding["capability"]),
        "class": spell_out(finding["class"]),
        "cause": CAUSES[finding["cause"]],
        "seen": describe_age(finding),
        "declared in": show_declaration(finding),
        "fingerprint": finding["fingerprint"][: len("sha256:") + 16],
    }
    if waiver:
        facts["waived"] = describe_waiver(waiver)
    return {name: value for name, value in facts.items() if value}
