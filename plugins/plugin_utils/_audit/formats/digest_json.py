# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of an audit as JSON: events on many accounts instead of single findings.

An event is what several findings of one rule and severity have in common. A finding is recent if it is new or changed
since the last audit. A waived finding is one that the user has accepted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..._documents.digest import AuditDigest, DigestEvent, DigestResolved, DigestUnknown
from ..._documents.finding import AuditReport, Finding
from .groups import find_last_start, group_findings, group_resolved, is_recent
from .shared import describe_result, escape_invisible, list_fixing_commands, list_unwaived

SCHEMA = "hpc.onboard/audit-digest/1.0"
MOST = 50  # events, resolved findings or unknown accounts that are listed
SOME = 5  # accounts whose names are listed for each of them


def render(report: AuditReport) -> str:
    """Return the digest as a JSON document in ASCII."""
    return json.dumps(build_digest(report), indent=1) + "\n"


def build_digest(report: AuditReport, most: int = MOST) -> AuditDigest:
    """Return the digest of all findings except for waived ones and those of severity info.

    most: with more groups than this, findings are grouped more coarsely. The verdict is the result in words.
    """
    report = escape_invisible(report)
    summary, run = report["summary"], report["run"]
    unwaived = list_unwaived(report["findings"])
    # RUN-002 is about accounts that could not be measured: "unknown" lists them.
    listed = [finding for finding in unwaived if finding["severity"] != "info" and finding["rule"] != "RUN-002"]
    events = list(_list_events([finding for finding in listed if is_recent(finding)], most, recent=True))
    if run["since"] != "last":  # with --since last, the user wants recent events only
        events += _list_events([finding for finding in listed if not is_recent(finding)], most, recent=False)
    return {
        "schema": SCHEMA,
        "run": run["id"],
        "started": run["started"],
        "since": run["since"],
        "last": find_last_start(report),
        "verdict": describe_result(report),
        "failed": summary["failed"],
        "reasons": summary["reasons"],
        "by_severity": summary["by_severity"],
        "new": summary["new"],
        "changed": summary["changed"],
        "resolved": summary["resolved"],
        "unchanged": sum(not is_recent(finding) for finding in unwaived),
        "events": events,
        "resolutions": list(_list_resolved(report)),
        "unknown": list(_list_unknown(report)),
        "next": [command for command, _names in list_fixing_commands(report)],
    }


def _list_events(findings: Sequence[Finding], most: int, *, recent: bool) -> Iterator[DigestEvent]:
    """Yield the events of these findings. most: see build_digest. recent: True if the findings are new or changed."""
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


def _list_resolved(report: AuditReport) -> Iterator[DigestResolved]:
    """Yield the resolved findings, one entry for each rule and resource, the most accounts first."""
    for rule, resource, names in group_resolved(report["resolved"])[:MOST]:
        yield {"rule": rule, "resource": resource, "accounts": len(names), "some": names[:SOME]}


def _list_unknown(report: AuditReport) -> Iterator[DigestUnknown]:
    """Yield the reasons why accounts could not be measured, the reason of the most accounts first."""
    names_by_reason: dict[str, list[str]] = {}
    for account in report["accounts"]:
        if account["state"] == "unknown":
            names_by_reason.setdefault(account["reason"], []).append(account["name"])
    for reason, names in sorted(names_by_reason.items(), key=lambda group: -len(group[1]))[:MOST]:
        yield {"reason": reason, "accounts": len(names), "some": names[:SOME]}
