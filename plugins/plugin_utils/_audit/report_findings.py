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
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from .._state.audit_history import Known
from .findings import finding_key, simple_finding
from .fixes import FixCommands
from .rules.catalogue import RULES, SEVERITIES

if TYPE_CHECKING:
    from .._documents.finding import AuditedAccount, AuditRow, Difference, Finding, FoundDifference

ACCOUNT = "account"  # used as the role of a finding about an account that could not be measured
MOST_FINDINGS = 300  # of one account, because an account that reports false findings must not fill the report


class CheckedParts(NamedTuple):
    """The parts of accounts that an audit has checked: (account, role), without unmeasured (account, resource)."""

    roles: frozenset[tuple[str, str]]
    unmeasured: frozenset[tuple[str, str]]

    def include(self, finding: Mapping[str, str]) -> bool:
        """Return True if the audit would have found this earlier finding again."""
        account, role = finding.get("account", ""), finding.get("capability", "")
        return (account, role) in self.roles and (account, finding.get("resource", "")) not in self.unmeasured


def list_checked_parts(accounts: Sequence[AuditedAccount], findings: Iterable[Finding]) -> CheckedParts:
    """Return the checked parts of these accounts. findings: of the same audit."""
    roles = {(account["name"], ACCOUNT) for account in accounts}  # an audit always checks whether it can be measured
    for account in accounts:
        if account["state"] == "measured":  # a role with invalid settings is unknown
            checked = [role for role, cell in account["capabilities"].items() if cell != "unknown"]
            roles |= {(account["name"], role) for role in checked}
    unmeasured = {(finding["account"], finding["resource"]) for finding in findings if is_unmeasured_resource(finding)}
    return CheckedParts(frozenset(roles), frozenset(unmeasured))


def is_unmeasured_resource(finding: Finding) -> bool:
    """Return True if a role's resource was not measured. An audit check that cannot run is only information."""
    return finding["rule"] == "RUN-001" and finding["capability"] != "watch"


def remove_duplicates(findings: Iterable[FoundDifference]) -> list[FoundDifference]:
    """Return each finding once, without SEC-010 for a place that SEC-001 or SEC-002 names.

    All three are about access by other users. SEC-001 and SEC-002 also say that the place contains a key.
    """
    distinct = list({finding_key(finding): finding for finding in findings}.values())
    key_places = {finding["place"] for finding in distinct if finding["rule"] in ("SEC-001", "SEC-002")}
    return [finding for finding in distinct if finding["rule"] != "SEC-010" or finding["place"] not in key_places]


def limit_number(findings: list[FoundDifference]) -> list[FoundDifference]:
    """Return the worst findings of an account, and a last one with the number of the others."""
    worst = sorted(findings, key=lambda finding: SEVERITIES.index(finding["severity"]))
    rest = worst[MOST_FINDINGS:]
    if not rest:
        return findings
    number = "1 more finding is" if len(rest) == 1 else f"{len(rest)} more findings are"
    text = f"{number} not listed. Fix the listed findings, then run the audit again."
    # with resource and role of the worst omitted finding, so that the report shows this role as not fully measured
    last = simple_finding("RUN-001", rest[0]["resource"], text, found_class="unknown", cause="unknown")
    return [*worst[:MOST_FINDINGS], {**last, "capability": rest[0]["capability"]}]


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
