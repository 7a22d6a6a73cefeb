# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of findings for lists: one event on many accounts, and changes since the last audit.

A list for people has a limited number of entries, so findings are grouped as coarsely as the limit requires. The event
of a finding is its text without the names of user and project, so that equal findings have the same event.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..rules.catalogue import RULES, SEVERITIES

if TYPE_CHECKING:
    from ..._documents.finding import AuditReport, Finding, ResolvedFinding
    from ..._documents.outcome import Severity

LEVELS: tuple[Callable[[Finding], Hashable], ...] = (
    lambda finding: (finding["event"], finding["resource"], finding["place"]),
    lambda finding: finding["event"],
    lambda finding: (),  # only severity and rule
)
"""Properties that the findings of a group share, in addition to severity and rule; the finest grouping is first."""


class FindingGroup(NamedTuple):
    """Findings of one rule and severity. text, place, since, diff: empty unless all findings have the same."""

    findings: Sequence[Finding]
    accounts: list[str]
    text: str
    place: str
    since: str
    diff: Sequence[str]

    @property
    def first(self) -> Finding:
        """Return the first finding, which represents the group."""
        return self.findings[0]

    @property
    def number(self) -> int:
        """Return the number of findings."""
        return len(self.findings)

    @property
    def severity(self) -> Severity:
        """Return the severity of all findings."""
        return self.first["severity"]


def group_findings(findings: Sequence[Finding], most: int) -> list[FindingGroup]:
    """Return the findings in groups, the worst severity first, then the most accounts first.

    most: the finest level with at most this number of groups is used, else the coarsest level.
    """
    members_by_key: dict[Hashable, list[Finding]] = {}
    for find_common_properties in LEVELS:
        members_by_key = {}
        for finding in findings:
            key = (finding["severity"], finding["rule"], find_common_properties(finding))
            members_by_key.setdefault(key, []).append(finding)
        if len(members_by_key) <= most:
            break
    groups = [_build_group(members) for members in members_by_key.values()]
    return sorted(groups, key=lambda group: (SEVERITIES.index(group.severity), -len(group.accounts)))


def _build_group(findings: Sequence[Finding]) -> FindingGroup:
    """Return the group of these findings. Without a common text, its text is the event, or else the rule's title."""
    first = findings[0]
    accounts = list(dict.fromkeys(finding["account"] for finding in findings))
    text = _find_common([finding["text"] for finding in findings])
    text = text or _find_common([finding["event"] for finding in findings]) or f"{RULES[first['rule']].title}."
    place = _find_common([finding["place"] or finding["resource"] for finding in findings])
    since = _find_common([describe_age(finding) for finding in findings])
    diff = first["diff"] if all(finding["diff"] == first["diff"] for finding in findings) else []
    return FindingGroup(findings, accounts, text, place, since, diff)


def _find_common(texts: Sequence[str]) -> str:
    """Return the text if all texts are equal, else an empty one."""
    return texts[0] if len(set(texts)) == 1 else ""


def describe_age(finding: Finding) -> str:
    """Return the age of a finding for people: 'new', 'changed, since 2026-11-20' or 'since 2026-11-20'."""
    if finding["new"]:
        return "new"
    return f"{'changed, ' if finding['changed'] else ''}since {finding['since']}"


def is_recent(finding: Finding) -> bool:
    """Return True if the last audit did not have this finding, or had it with a different state."""
    return finding["new"] or finding["changed"]


def select_recent(report: AuditReport) -> AuditReport:
    """Return the report with only the recent findings if --since last is set, else the whole report."""
    if report["run"]["since"] != "last":
        return report
    return {**report, "findings": [finding for finding in report["findings"] if is_recent(finding)]}


def find_last_start(report: AuditReport) -> str:
    """Return the start of the last audit of the same accounts and roles; empty for the first audit."""
    return report["history"][-1]["started"] if report["history"] else ""


def group_resolved(resolved: Sequence[ResolvedFinding]) -> list[tuple[str, str, list[str]]]:
    """Return rule, resource and accounts of the resolved findings, the most accounts first."""
    names_by_group: dict[tuple[str, str], dict[str, None]] = {}  # a dict as an ordered set of names
    for finding in resolved:
        names_by_group.setdefault((finding["rule"], finding["resource"]), {})[finding["account"]] = None
    groups = [(rule, resource, list(names)) for (rule, resource), names in names_by_group.items()]
    return sorted(groups, key=lambda group: -len(group[2]))
