# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that are shown together: one event on many accounts, and what happened since the last audit.

A list for people has a limited number of entries. It takes the finest level of grouping that fits.
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
    lambda finding: (),
)
"""What findings of one group have in common besides severity and rule, the finest first."""


class FindingGroup(NamedTuple):
    """Findings that are shown together. text, place, since, diff: what all of them share, or empty."""

    findings: Sequence[Finding]
    accounts: list[str]
    text: str
    place: str
    since: str
    diff: Sequence[str]

    @property
    def first(self) -> Finding:
        """Return the worst finding."""
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
    """Return the findings in groups of one rule and severity, the worst first, and in each the most accounts first.

    most: the number of groups up to which a finer level is taken.
    """
    found: dict[Hashable, list[Finding]] = {}
    for level in LEVELS:
        found = {}
        for finding in findings:
            found.setdefault((finding["severity"], finding["rule"], level(finding)), []).append(finding)
        if len(found) <= most:
            break
    groups = [_group(alike) for alike in found.values()]
    return sorted(groups, key=lambda one: (SEVERITIES.index(one.severity), -len(one.accounts)))


def _group(alike: Sequence[Finding]) -> FindingGroup:
    accounts = list(dict.fromkeys(finding["account"] for finding in alike))
    text = shared([one["text"] for one in alike]) or shared([one["event"] for one in alike])
    place = shared([one["place"] or one["resource"] for one in alike])
    since = shared([age(one) for one in alike])
    diff = alike[0]["diff"] if all(one["diff"] == alike[0]["diff"] for one in alike) else []
    return FindingGroup(alike, accounts, text or f"{RULES[alike[0]['rule']].title}.", place, since, diff)


def shared(texts: Sequence[str]) -> str:
    """Return the text that all of them are, or an empty one."""
    return texts[0] if len(set(texts)) == 1 else ""


def age(finding: Finding) -> str:
    """Return 'new', 'changed, since 2026-11-20' or 'since 2026-11-20'."""
    if finding["new"]:
        return "new"
    return f"{'changed, ' if finding['changed'] else ''}since {finding['since']}"


def is_recent(finding: Finding) -> bool:
    """Return True if the last audit did not find this, or found it in another state."""
    return finding["new"] or finding["changed"]


def recent(report: AuditReport) -> AuditReport:
    """Return the report without the findings that the last audit found already, if the run asks for that."""
    if report["run"]["since"] != "last":
        return report
    return {**report, "findings": [one for one in report["findings"] if is_recent(one)]}


def last_started(report: AuditReport) -> str:
    """Return when the last audit of the same accounts and roles started; empty for a first one."""
    return report["history"][-1]["started"] if report["history"] else ""


def group_resolved(resolved: Sequence[ResolvedFinding]) -> list[tuple[str, str, list[str]]]:
    """Return rule, resource and accounts of the resolved findings, those of the most accounts first."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for one in resolved:
        found.setdefault((one["rule"], one["resource"]), {})[one["account"]] = None
    groups = [(rule, resource, list(names)) for (rule, resource), names in found.items()]
    return sorted(groups, key=lambda one: -len(one[2]))
