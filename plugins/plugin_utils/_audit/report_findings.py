# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of the report: an account's finding with its fingerprint, its history, its fix and its event.

An event is the text of a finding without the names of user and project. One event can occur on many accounts. The
baseline is a file with findings of an earlier audit, which do not fail an audit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from .._state.audit_history import Known
from .fixes import FixCommands
from .rules.catalogue import RULES, SEVERITIES

if TYPE_CHECKING:
    from .._documents.finding import AuditRow, Difference, Finding, FoundDifference


def complete_finding(
    finding: FoundDifference,
    row: AuditRow,
    known: Known,
    baseline: Mapping[str, str],
    commands: FixCommands,
    today: date,
) -> Finding:
    """Return a finding of an account with all fields that the report adds.

    row: of the account. known: findings of earlier audits, by fingerprint. baseline: fingerprint -> day of the first
    finding. commands: finds the fix of a finding.
    """
    account = row["name"]
    fingerprint = fingerprint_finding(finding["rule"], account, finding["resource"], finding["place"])
    earlier = known.get(fingerprint, {})
    return {
        "rule": finding["rule"],
        "capability": finding["capability"],
        "resource": finding["resource"],
        "place": finding["place"],
        "class": finding["class"],
        "cause": finding["cause"],
        "severity": finding["severity"],
        "text": finding["text"],
        "desired": finding["desired"],
        "actual": finding["actual"],
        "diff": finding.get("diff", []),
        "account": account,
        "event": describe_event(finding["text"], account.partition("@")[0], row["project"]),
        "since": earlier.get("since") or baseline.get(fingerprint) or today.isoformat(),
        "new": not earlier and fingerprint not in baseline,
        "changed": earlier.get("state", hash_state(finding)) != hash_state(finding),
        "baseline": "unchanged" if fingerprint in baseline else "new",
        "waiver": None,
        "fingerprint": fingerprint,
        "fix": finding.get("fix") or commands.find_fix(finding, account),  # some findings already have their own fix
        "owner": RULES[finding["rule"]].owner,
        "declared": row["declared"],
        "help": f"docs/rules.md#{finding['rule'].lower()}",
    }


def fingerprint_finding(*parts: str) -> str:
    """Return the id of a finding, equal in all runs. parts: rule, account, resource and place, but not the state."""
    return "sha256:" + hashlib.sha256("\0".join(parts).encode()).hexdigest()


def hash_state(finding: Difference) -> str:
    """Return a hash of 12 hexadecimal digits that changes if the finding changes.

    For an audit check, numbers in the text are ignored: they change every day (days left, percentages).
    """
    is_of_check = finding["capability"] == "watch"  # "watch" is in place of a role
    state = re.sub(r"\d+", "#", finding["text"]) if is_of_check else [finding["desired"], finding["actual"]]
    parts = [finding["severity"], finding["class"], finding["cause"], state]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def describe_event(text: str, user: str, project: str) -> str:
    """Return the text with user and project replaced in paths, so that one event has one text on all accounts."""
    for name, variable in ((user, "$USER"), (project, "$PROJECT")):
        if name:
            text = re.sub(rf"(?<=/){re.escape(name)}(?![\w.-]*\w)", variable, text)  # only whole parts of a path
    return text


def rank_finding(finding: Finding) -> tuple[int, str, str, str, str, str]:
    """Return the sort key of a finding in the report: the worst severity first, then by account and rule."""
    rank = SEVERITIES.index(finding["severity"])
    return rank, finding["account"], finding["rule"], finding["resource"], finding["place"], finding["text"]
