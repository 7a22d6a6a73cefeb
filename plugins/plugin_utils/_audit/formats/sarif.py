# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as SARIF 2.1.0, for GitHub's code scanning and for editors.

The location of a result is the line of the accounts file that declares the account. The path on the account is the
logical location, because no repository contains it. Without a line, the playbook is the location: readers of SARIF
refuse results without a file.
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
from .shared import SOURCE, escape_invisible, help_url

Sarif = dict[str, Any]  # a part of the document; tests compare the document with the schema of SARIF
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}
SECURITY = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0", "info": "1.0"}
"""Scores for results with the tag "security", in GitHub's scale: from 9 critical, from 7 high, from 4 medium."""
MOST = 5000
"""Results that GitHub accepts from one run (docs.github.com, SARIF support for code scanning, limits)."""
RULE_INDEX = {name: number for number, name in enumerate(RULES)}


def render(report: AuditReport) -> str:
    """Return the report as a SARIF document in ASCII."""
    report = escape_invisible(report)
    results = [_build_result(finding, report) for finding in report["findings"]]
    results = [*results, *_list_resolved(report)][:MOST]
    number_omitted = len(report["findings"]) + len(report["resolved"]) - len(results)
    run = {
        "tool": {"driver": _describe_tool(report)},
        "automationDetails": {"id": f"hpc.onboard/audit/{report['run']['id']}"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_describe_run(report, number_omitted)],
        "results": results,
        "properties": {"summary": report["summary"]},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def build_message(text: str) -> dict[str, str]:
    """Return a SARIF message of this text. Links and placeholders ({0}) in the text are escaped."""
    text = re.sub(r"(?<=\d)\}", "}}", text)
    text = re.sub(r"\{(?=\d)", "{{", text)
    return {"text": text.replace("](", "] (") or "-"}  # SARIF requires a text


def _describe_tool(report: AuditReport) -> Sarif:
    return {
        "name": "hpc.onboard audit",
        "version": report["run"]["tool"],
        "informationUri": SOURCE,
        "rules": [_describe_rule(name) for name in RULES],
    }


def _describe_rule(name: str) -> Sarif:
    """Return the description of a rule of the catalogue. Only rules about security get a score."""
    rule, url = RULES[name], help_url(f"docs/rules.md#{name.lower()}")
    security = {"security-severity": SECURITY[rule.severity]} if name.startswith("SEC-") else {}
    return {
        "id": name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.title}."},
        "help": {"text": f"What this rule means and how to fix its findings: {url}"},
        "helpUri": url,
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": ["security"] if security else ["drift"], "owner": rule.owner, **security},
    }


def _describe_run(report: AuditReport, number_omitted: int) -> Sarif:
    """Return time and result of the run. number_omitted: of the mildest results, which exceed GitHub's limit."""
    started = datetime.fromisoformat(report["run"]["started"])
    ended = started + timedelta(seconds=round(report["run"]["seconds"]))
    unmeasured = [account for account in report["accounts"] if account["state"] == "unknown"]
    texts = [
        f"{account['name']} could not be checked: {account['reason']} {render_in_one_line(account['next'])}".strip()
        for account in unmeasured
    ]
    notifications = [{"level": "error", "message": build_message(text)} for text in texts]
    if number_omitted:
        warning = f"The {number_omitted:,} mildest results are not in this file. audit.json contains all results."
        notifications.append({"level": "warning", "message": build_message(warning)})
    return {
        "executionSuccessful": not unmeasured,
        "exitCode": report["summary"]["exit"],
        "startTimeUtc": report["run"]["started"],
        "endTimeUtc": ended.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "toolExecutionNotifications": notifications,
    }


def _build_result(finding: Finding, report: AuditReport) -> Sarif:
    """Return the result for a finding. A finding with a waiver has a suppression, as SARIF calls it."""
    place = finding["place"] or finding["resource"]
    names = (finding["account"], finding["capability"], finding["resource"])
    applies = finding["class"] != "not_applicable"  # else the finding is not about a problem
    result = {
        **_identify(finding),
        "kind": "fail" if applies else "notApplicable",
        "level": LEVELS[finding["severity"]] if applies else "none",
        "message": build_message(f"{finding['account']}: {finding['text']}{_describe_advice(finding)}"),
        "locations": [_build_location(place, names, finding["declared"], report)],
        "baselineState": "new" if finding["new"] else "unchanged",
        "properties": {
            name: finding[name]
            for name in ("severity", "class", "cause", "capability", "desired", "actual", "since", "fix")
        },
    }
    return {**result, "suppressions": [_build_suppression(finding["waiver"])]} if finding["waiver"] else result


def _identify(finding: Finding | ResolvedFinding) -> Sarif:
    """Return the fields that identify a result in every run.

    GitHub distinguishes results only by file, rule and primaryLocationLineHash, and all results of an account have the
    same line: so the fingerprint is used instead of a hash of the line.
    """
    fingerprint = finding["fingerprint"].removeprefix("sha256:")
    known_rule: Sarif = {"ruleIndex": RULE_INDEX[finding["rule"]]} if finding["rule"] in RULE_INDEX else {}
    return {
        "ruleId": finding["rule"],  # a resolved finding may have a rule of another version of hpc-onboard
        **known_rule,
        "partialFingerprints": {"hpcOnboard/v1": fingerprint, "primaryLocationLineHash": f"{fingerprint[:16]}:1"},
    }


def _describe_advice(finding: Finding) -> str:
    """Return the end of a message: how to fix the finding; empty without a fix."""
    return f" Fix: {render_in_one_line(finding['fix'])}" if finding["fix"] else ""


def _build_location(place: str, names: tuple[str, str, str], declared: SourceLine | None, report: AuditReport) -> Sarif:
    """Return the line of the accounts file, and the place on the account.

    place: a path or the name of the resource. names: account, role and resource. declared: the line; None if unknown,
    then the playbook is the location.
    """
    file: SourceLine = declared or {"file": report["run"]["playbook"], "line": 1}
    return {
        "physicalLocation": _point_to_line(file["file"], file["line"]),
        "logicalLocations": [{"name": place, "fullyQualifiedName": "/".join(names), "kind": "resource"}],
    }


def _point_to_line(file: str, line: int) -> Sarif:
    """Return a physical location. Its URI is relative, because readers of SARIF look for the file in a repository."""
    return {"artifactLocation": {"uri": quote(file.lstrip("/")) or "."}, "region": {"startLine": line}}


def _build_suppression(waiver: Excuse) -> Sarif:
    """Return the waiver as a suppression, with the line that contains the waiver if that is known."""
    file, _colon, line = waiver["where"].rpartition(":")
    author = f", {waiver['by']}" if waiver["by"] else ""
    text = f"{waiver['justification']} (until {waiver['expires']}{author})"
    suppression = {"kind": "external", "status": "accepted", "justification": text}
    if not file or not line.isascii() or not line.isdigit() or int(line) == 0:  # no line number, or an invalid one
        return suppression
    return {**suppression, "location": {"physicalLocation": _point_to_line(file, int(line))}}


def _list_resolved(report: AuditReport) -> Iterator[Sarif]:
    """Yield a result for each resolved finding, which SARIF calls absent.

    A resolved finding has no role, and the line of its account was not recorded.
    """
    for finding in report["resolved"]:
        names = (finding["account"], "", finding["resource"])
        yield {
            **_identify(finding),
            "level": LEVELS[RULES[finding["rule"]].severity] if finding["rule"] in RULES else "none",
            "message": build_message(f"{finding['account']}: {finding['resource']} is up to date again."),
            "locations": [_build_location(finding["resource"], names, declared=None, report=report)],
            "baselineState": "absent",
        }
