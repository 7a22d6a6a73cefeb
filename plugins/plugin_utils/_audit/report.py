# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report (docs/schemas/audit.schema.json) and its verdict, from the results of the accounts.

These are pure functions of the results, the earlier results, the waivers and the day.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from .._documents.fix import Fix, advice
from .._state.audit_history import Known
from . import waivers as _waivers
from .findings import simple_finding
from .fixes import FixCommands
from .report_findings import complete_finding, fingerprint_finding, hash_state, order_finding
from .rules.catalogue import CLASSES, RULES, SEVERITIES

if TYPE_CHECKING:
    from .._documents.declaration import ResourceEntry
    from .._documents.finding import (
        AccountSite,
        AuditedAccount,
        AuditReport,
        AuditRow,
        AuditRun,
        AuditSummary,
        BySeverity,
        Cell,
        Finding,
        FormerAudit,
        ResolvedFinding,
    )
    from .._documents.outcome import Severity

SCHEMA = "hpc.onboard/audit/2.2"
UNMEASURED = ("RUN-001", "RUN-002")
ACCOUNT = "account"  # in place of a role, for a whole account that could not be measured


class EarlierResults(NamedTuple):
    """Known findings, former runs, waivers, and the findings of a baseline with their days; None without one."""

    known: Known
    history: Sequence[FormerAudit]
    waivers: list[_waivers.Waiver]
    accepted: Mapping[str, str] | None


def build_report(
    run: AuditRun, rows: Sequence[AuditRow], past: EarlierResults, commands: FixCommands, today: date
) -> AuditReport:
    """Return the whole report. rows: the results of the accounts."""
    accepted = past.accepted or {}
    findings = sorted(
        (complete_finding(one, row, past.known, accepted, commands, today) for row in rows for one in row["findings"]),
        key=order_finding,
    )
    waivers = _waivers.apply_waivers(past.waivers, findings, today)
    of_account: dict[str, list[Finding]] = {row["name"]: [] for row in rows}
    for one in findings:
        of_account[one["account"]].append(one)
    accounts = [_account(row, of_account[row["name"]]) for row in sorted(rows, key=lambda row: row["name"])]
    resolved = _resolved(past.known, rows, findings)
    return {
        "schema": SCHEMA,
        "run": run,
        "summary": _summary(run, accounts, findings, resolved),
        "accounts": accounts,
        "findings": findings,
        "resolved": resolved,
        "waivers": waivers,
        "history": list(past.history),
    }


def _account(row: AuditRow, findings: Sequence[Finding]) -> AuditedAccount:
    """Return an account of the report, with the worst severity of each role that is not waived."""
    mine = [one for one in findings if not one["waiver"]]
    cells = {name: _cell(name, state, mine) for name, state in row["capabilities"].items()}
    return {
        "name": row["name"],
        "cluster": row["cluster"],
        "site": row["site"],
        "profile": row["profile"],
        "state": row["state"],
        "reason": row["reason"],
        "next": row["next"],
        "seconds": row["seconds"],
        "checks": row["checks"],
        "ok": row["ok"],
        "capabilities": cells,
    }


def _cell(capability: str, state: Cell, findings: Sequence[Finding]) -> Cell:
    if state != "ok":
        return state
    mine = [one for one in findings if one["capability"] == capability]
    worst = min((SEVERITIES.index(one["severity"]) for one in mine if one["rule"] not in UNMEASURED), default=None)
    if worst is not None:
        return SEVERITIES[worst]
    return "unknown" if any(one["capability"] != "watch" for one in mine) else "ok"


def _resolved(known: Known, rows: Sequence[AuditRow], findings: Sequence[Finding]) -> list[ResolvedFinding]:
    """Return earlier findings that were checked again and are gone.

    What a role keeps and could not be measured was not checked. Whether an account answers always is.
    """
    looked = {(row["name"], name) for row in rows if row["state"] == "measured" for name in row["capabilities"]}
    looked |= {(row["name"], ACCOUNT) for row in rows}
    unseen = [one for one in findings if one["rule"] == "RUN-001" and one["capability"] != "watch"]
    hidden = {(one["account"], one["resource"]) for one in unseen}
    there = {one["fingerprint"] for one in findings}
    gone: list[ResolvedFinding] = [
        {
            "fingerprint": fingerprint,
            "rule": one.get("rule", ""),
            "account": one.get("account", ""),
            "resource": one.get("resource", ""),
            "since": one.get("since", ""),
        }
        for fingerprint, one in known.items()
        if fingerprint not in there
        and (one.get("account"), one.get("capability")) in looked
        and (one.get("account"), one.get("resource")) not in hidden
    ]
    return sorted(gone, key=lambda one: (one["account"], one["rule"], one["resource"], one["fingerprint"]))


def merge_known(before: Known, result: AuditReport, rows: Sequence[AuditRow]) -> Known:
    """Return the findings to remember: those of this run with their fixes, and earlier ones that were not checked."""
    fixes = {
        fingerprint_finding(one["rule"], row["name"], one["resource"], one["place"]): one["auto_fix"]
        for row in rows
        for one in row["findings"]
        if "auto_fix" in one
    }
    gone = {one["fingerprint"] for one in result["resolved"]}
    found = {
        one["fingerprint"]: {
            "rule": one["rule"],
            "account": one["account"],
            "capability": one["capability"],
            "resource": one["resource"],
            "since": one["since"],
            "state": hash_state(one),
            **_remembered_fix(one, fixes.get(one["fingerprint"])),
        }
        for one in result["findings"]
    }
    return {**{key: one for key, one in before.items() if key not in gone}, **found}


def _remembered_fix(finding: Finding, fix: ResourceEntry | None) -> dict[str, str]:
    """Return what fix.yml needs of a finding that it can fix; a waived one stays as it is."""
    if finding["waiver"] or fix is None:
        return {}
    return {"place": finding["place"], "text": finding["text"], "auto_fix": json.dumps(fix, sort_keys=True)}


def _summary(
    run: AuditRun, accounts: Sequence[AuditedAccount], findings: Sequence[Finding], resolved: Sequence[ResolvedFinding]
) -> AuditSummary:
    counted = [one for one in findings if not one["waiver"]]
    severities, classes = Counter(one["severity"] for one in counted), Counter(one["class"] for one in counted)
    checks, ok = sum(one["checks"] for one in accounts), sum(one["ok"] for one in accounts)
    unseen = sum(one["rule"] == "RUN-001" for one in findings)
    missed = [one["name"] for one in accounts if one["state"] == "unknown"]
    reasons = _reasons(run, counted, missed)
    return {
        "accounts": len(accounts),
        "measured": len(accounts) - len(missed),
        "unknown": len(missed),
        "checks": checks,
        "ok": ok,
        "coverage_pct": _coverage(checks, unseen, accounts),
        "by_severity": _by_severity(severities),
        "by_class": {name: classes[name] for name in CLASSES if classes[name]},
        "waived": sum(one["waiver"] is not None for one in findings),
        "new": sum(one["new"] for one in counted),
        "changed": sum(one["changed"] for one in counted),
        "resolved": len(resolved),
        "accepted": sum(one["baseline"] == "unchanged" for one in counted),
        "failed": bool(reasons),
        "exit": 2 if reasons else 0,
        "reasons": reasons,
    }


def _by_severity(counts: Counter[Severity]) -> BySeverity:
    return {
        "critical": counts["critical"],
        "high": counts["high"],
        "medium": counts["medium"],
        "low": counts["low"],
        "info": counts["info"],
    }


def _coverage(checks: int, unseen: int, accounts: Sequence[AuditedAccount]) -> int:
    """Return the measured share in percent, rounded down; an unmeasured account counts as nothing."""
    measured = [one for one in accounts if one["state"] == "measured"]
    if not accounts or not measured:
        return 0
    share = (checks - min(unseen, checks)) / checks if checks else 1.0
    return int(100 * share * len(measured) / len(accounts))


def _reasons(run: AuditRun, counted: Sequence[Finding], missed: Sequence[str]) -> list[str]:
    """Return why the run fails, one phrase each; empty if it does not."""
    reasons = []
    if run["fail_on"] != "never":
        bad = SEVERITIES[: SEVERITIES.index(run["fail_on"]) + 1]
        found = [one for one in counted if one["severity"] in bad and _fails_run(one)]
        if found:
            reasons.append(f"{_number(len(found), 'finding')} of severity {run['fail_on']} or worse")
    if run["incomplete"] == "fail":
        waived = set(missed) - {one["account"] for one in counted if one["rule"] == "RUN-002"}
        if set(missed) - waived:
            reasons.append(f"{_number(len(set(missed) - waived), 'account')} could not be measured")
        parts = [one for one in counted if one["rule"] == "RUN-001" and one["capability"] != "watch"]
        if parts:
            reasons.append(f"{_number(len(parts), 'thing')} that onboarding keeps could not be measured")
    return reasons


def _fails_run(finding: Finding) -> bool:
    return finding["baseline"] == "new" and finding["rule"] not in UNMEASURED


def _number(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def unmeasured_row(name: str, reason: str, account: AccountSite) -> AuditRow:
    """Return the row of an account that could not be measured."""
    fix: Fix = [advice(RULES["RUN-002"].advice)]
    finding = simple_finding("RUN-002", "the account", reason, found_class="unknown", cause="unknown", fix=fix)
    return {
        "name": name,
        **account,
        "state": "unknown",
        "reason": reason,
        "next": [],
        "seconds": 0.0,
        "checks": 0,
        "ok": 0,
        "capabilities": {},
        "declared": None,
        "project": "",
        "findings": [{**finding, "capability": ACCOUNT}],
    }
