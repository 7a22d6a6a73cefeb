# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as SARIF 2.1.0, for GitHub's code scanning and for editors.

The location of a result is the line that declares the resource, because paths on an account are in no repository; those
are its logical location. An undeclared resource has the playbook as location: readers refuse a result without a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from ..._documents.finding import AuditReport, Excuse, Finding, ResolvedFinding, SourceLine
from ..._documents.fix import render_in_one_line
from ..rules.catalogue import RULES
from .shared import SOURCE, harmless, help_url

Sarif = dict[str, Any]  # a part of the document: its standard is another's, and the tests hold it
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
SECURITY = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0", "info": "1.0"}
"""The numbers by which GitHub sorts what is tagged as security: from 9 critical, from 7 high, from 4 medium."""
MOST = 5000
"""Results of a run that GitHub shows: docs.github.com, SARIF support for code scanning, limits."""
NUMBERS = {name: number for number, name in enumerate(RULES)}


def text(report: AuditReport) -> str:
    """Return the whole document, in ASCII."""
    report = harmless(report)
    results = [*(_result(finding, report) for finding in report["findings"][:MOST]), *_absent(report)][:MOST]
    left_out = len(report["findings"]) + len(report["resolved"]) - len(results)
    run = {
        "tool": {"driver": _driver(report)},
        "automationDetails": {"id": f"hpc.onboard/audit/{report['run']['id']}"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report, left_out)],
        "results": results,
        "properties": {"summary": report["summary"]},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def message(said: str) -> dict[str, str]:
    """Return a text in which nothing is a link or a placeholder."""
    return {"text": re.sub(r"\{(?=\d)", "{{", re.sub(r"(?<=\d)\}", "}}", said)).replace("](", "] (") or "-"}


def _driver(report: AuditReport) -> Sarif:
    return {
        "name": "hpc.onboard audit",
        "version": report["run"]["tool"],
        "informationUri": SOURCE,
        "rules": [_rule(name) for name in RULES],
    }


def _rule(name: str) -> Sarif:
    rule, url = RULES[name], help_url(f"docs/rules.md#{name.lower()}")
    safety = {"security-severity": SECURITY[rule.severity]} if name.startswith("SEC-") else {}
    return {
        "id": name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.title}."},
        "help": {"text": f"What it means and what to do: {url}"},
        "helpUri": url,
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": ["security"] if safety else ["drift"], **safety},
    }


def _invocation(report: AuditReport, left_out: int) -> Sarif:
    """Return what the run came to. left_out: how many results, the least severe, the document has no room for."""
    started = datetime.fromisoformat(report["run"]["started"])
    ended = started + timedelta(seconds=round(report["run"]["seconds"]))
    missed = [account for account in report["accounts"] if account["state"] == "unknown"]
    said = [
        f"{one['name']} could not be examined: {one['reason']} {render_in_one_line(one['next'])}".strip()
        for one in missed
    ]
    notifications = [{"level": "error", "message": message(text)} for text in said]
    if left_out:
        more = f"{left_out:,} more results, the least severe ones, are not in this file; audit.json has all of them."
        notifications.append({"level": "warning", "message": message(more)})
    return {
        "executionSuccessful": not missed,
        "exitCode": report["summary"]["exit"],
        "startTimeUtc": report["run"]["started"],
        "endTimeUtc": ended.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "toolExecutionNotifications": notifications,
    }


def _result(finding: Finding, report: AuditReport) -> Sarif:
    place = finding["place"] or finding["resource"]
    applies = finding["class"] != "not_applicable"
    result = {
        **_named(finding),
        "kind": "fail" if applies else "notApplicable",
        "level": LEVELS[finding["severity"]] if applies else "none",
        "message": message(f"{finding['account']}: {finding['text']}{_advice(finding)}"),
        "locations": [
            _location(
                place, (finding["account"], finding["capability"], finding["resource"]), finding["declared"], report
            )
        ],
        "baselineState": "new" if finding["new"] else "unchanged",
        "properties": {
            name: finding[name]
            for name in ("severity", "class", "cause", "capability", "desired", "actual", "since", "fix")
        },
    }
    return {**result, "suppressions": [_suppression(finding["waiver"])]} if finding["waiver"] else result


def _named(finding: Finding | ResolvedFinding) -> Sarif:
    """Return the members that identify a result in every run.

    GitHub distinguishes results by file, rule and primaryLocationLineHash alone, and ours share the line of an account.
    """
    known = finding["fingerprint"].removeprefix("sha256:")
    return {
        "ruleId": finding["rule"],
        "ruleIndex": NUMBERS[finding["rule"]],
        "partialFingerprints": {"hpcOnboard/v1": known, "primaryLocationLineHash": f"{known[:16]}:1"},
    }


def _advice(finding: Finding) -> str:
    return f" Do: {render_in_one_line(finding['fix'])}" if finding["fix"] else ""


def _location(place: str, names: tuple[str, str, str], declared: SourceLine | None, report: AuditReport) -> Sarif:
    """Return the declaring line, and the resource on the account. names: account, role and resource."""
    file: SourceLine = declared or {"file": report["run"]["playbook"], "line": 1}
    return {
        "physicalLocation": _physical(file["file"], file["line"]),
        "logicalLocations": [{"name": place, "fullyQualifiedName": "/".join(names), "kind": "resource"}],
    }


def _physical(file: str, line: int) -> Sarif:
    return {"artifactLocation": {"uri": quote(file.lstrip("/")) or "."}, "region": {"startLine": line}}


def _suppression(waiver: Excuse) -> Sarif:
    file, _colon, line = waiver["where"].rpartition(":")
    told = f"{waiver['justification']} (until {waiver['expires']}, {waiver['by']})"
    suppression = {"kind": "external", "status": "accepted", "justification": told}
    if not file or not line.isascii() or not line.isdigit() or int(line) == 0:
        return suppression
    return {**suppression, "location": {"physicalLocation": _physical(file, int(line))}}


def _absent(report: AuditReport) -> Iterator[Sarif]:
    """Yield the resolved findings."""
    for gone in report["resolved"]:
        yield {
            **_named(gone),
            "level": LEVELS[RULES[gone["rule"]].severity],
            "message": message(f"{gone['account']}: {gone['resource']} is up to date again."),
            "locations": [_location(gone["resource"], (gone["account"], "", gone["resource"]), None, report)],
            "baselineState": "absent",
        }
