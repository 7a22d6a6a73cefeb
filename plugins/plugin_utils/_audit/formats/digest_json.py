# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of an audit for programs: events instead of findings, with their number of accounts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..._documents.digest import AuditDigest, DigestEvent, DigestResolved, DigestUnknown
from ..._documents.finding import AuditReport, Finding
from .groups import group_findings, group_resolved, is_recent, last_started
from .shared import fixing_commands, harmless, unwaived, verdict

SCHEMA = "hpc.onboard/audit-digest/1.0"
MOST = 50  # groups of each kind
SOME = 5  # names of accounts


def text(report: AuditReport) -> str:
    """Return the whole document, in ASCII."""
    return json.dumps(build_digest(report), indent=1) + "\n"


def build_digest(report: AuditReport, most: int = MOST) -> AuditDigest:
    """Return the digest. Information is left out, and so is what waivers accept.

    most: the number of events up to which they are told apart by more than their rule.
    """
    report = harmless(report)
    summary, run = report["summary"], report["run"]
    counted = [one for one in unwaived(report["findings"]) if one["severity"] != "info" and one["rule"] != "RUN-002"]
    fresh, known = ([one for one in counted if is_recent(one) is recent] for recent in (True, False))
    events = [
        *_events(fresh, most, recent=True),
        *(_events(known, most, recent=False) if run["since"] != "last" else ()),
    ]
    return {
        "schema": SCHEMA,
        "run": run["id"],
        "started": run["started"],
        "since": run["since"],
        "last": last_started(report),
        "verdict": verdict(report),
        "failed": summary["failed"],
        "reasons": summary["reasons"],
        "by_severity": summary["by_severity"],
        "new": summary["new"],
        "changed": summary["changed"],
        "resolved": summary["resolved"],
        "unchanged": sum(not is_recent(one) for one in unwaived(report["findings"])),
        "events": events,
        "resolutions": list(_resolutions(report)),
        "unknown": list(_unknown(report)),
        "next": [command for command, _names in fixing_commands(report)],
    }


def _events(findings: Sequence[Finding], most: int, *, recent: bool) -> Iterator[DigestEvent]:
    for group in group_findings(findings, most)[:MOST]:
        yield {
            "severity": group.severity,
            "rule": group.first["rule"],
            "text": group.text,
            "place": group.place,
            "age": group.since,
            "recent": recent,
            "findings": group.number,
            "accounts": len(group.accounts),
            "some": group.accounts[:SOME],
        }


def _resolutions(report: AuditReport) -> Iterator[DigestResolved]:
    for rule, resource, names in group_resolved(report["resolved"])[:MOST]:
        yield {"rule": rule, "resource": resource, "accounts": len(names), "some": names[:SOME]}


def _unknown(report: AuditReport) -> Iterator[DigestUnknown]:
    reasons: dict[str, list[str]] = {}
    for account in report["accounts"]:
        if account["state"] == "unknown":
            reasons.setdefault(account["reason"], []).append(account["name"])
    for reason, names in sorted(reasons.items(), key=lambda one: -len(one[1]))[:MOST]:
        yield {"reason": reason, "accounts": len(names), "some": names[:SOME]}
