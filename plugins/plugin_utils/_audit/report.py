# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of an audit (docs/schemas/audit.schema.json) and its verdict, from the rows of the accounts.

Nothing is read or written: all depends only on the rows, the results of earlier audits, the waivers and the day.

A row is the result of the audit of one account: its findings, and a cell (a state) for each role ("capability"). The
findings of audit checks, which inspect what no role declares, have "watch" in place of a role. Two files list findings
that do not fail an audit: waivers, each until a given day, and the baseline, which an earlier audit wrote with all its
findings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from .._documents.fix import Fix, advice
from .._state.audit_history import Known
from .._text.amounts import count
from . import waivers as _waivers
from .findings import simple_finding
from .fixes import FixCommands
from .report_findings import (
    ACCOUNT,
    complete_finding,
    fingerprint_finding,
    hash_state,
    is_unmeasured_resource,
    list_checked_parts,
    rank_finding,
)
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
UNMEASURED = ("RUN-001", "RUN-002")  # the rules for a resource or check, and for an account, that was not measured


class EarlierResults(NamedTuple):
    """The results with which a new audit is compared.

    known: findings of earlier audits, by fingerprint. history: former runs of the same accounts and roles. waivers: of
    the waivers file. baseline: fingerprint -> day of the first finding; None without a baseline.
    """

    known: Known
    history: Sequence[FormerAudit]
    waivers: list[_waivers.Waiver]
    baseline: Mapping[str, str] | None


def build_report(
    run: AuditRun, rows: Sequence[AuditRow], past: EarlierResults, commands: FixCommands, today: date
) -> AuditReport:
    """Return the whole report. run: the options of the audit. rows: of all accounts, in any order.

    past: for the comparison. commands: finds the fix of a finding. today: the day of the audit.
    """
    baseline = past.baseline or {}
    findings = sorted(
        (
            complete_finding(finding, row, past.known, baseline, commands, today)
            for row in rows
            for finding in row["findings"]
        ),
        key=rank_finding,
    )
    waivers = _waivers.apply_waivers(past.waivers, findings, run, rows, today)  # also adds waivers to the findings
    by_account: dict[str, list[Finding]] = {row["name"]: [] for row in rows}
    for finding in findings:
        by_account[finding["account"]].append(finding)
    accounts = [_summarise_account(row, by_account[row["name"]]) for row in sorted(rows, key=lambda row: row["name"])]
    resolved = _find_resolved(past.known, rows, findings)
    return {
        "schema": SCHEMA,
        "run": run,
        "summary": _summarise(run, accounts, findings, resolved),
        "accounts": accounts,
        "findings": findings,
        "resolved": resolved,
        "waivers": waivers,
        "history": list(past.history),
    }


def _summarise_account(row: AuditRow, findings: Sequence[Finding]) -> AuditedAccount:
    """Return an account of the report, with the worst severity of each role. Waived findings are ignored."""
    unwaived = [finding for finding in findings if not finding["waiver"]]
    cells = {name: _rate_role(name, state, unwaived) for name, state in row["capabilities"].items()}
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


def _rate_role(role: str, state: Cell, findings: Sequence[Finding]) -> Cell:
    """Return the worst severity of a role's findings, "unknown" if some resource was not measured, else the state.

    state: of the role in the row. findings: of the account.
    """
    if state != "ok":
        return state  # the role does not apply to the account
    of_role = [finding for finding in findings if finding["capability"] == role]
    ranks = [SEVERITIES.index(finding["severity"]) for finding in of_role if finding["rule"] not in UNMEASURED]
    if ranks:
        return SEVERITIES[min(ranks)]
    return "unknown" if any(is_unmeasured_resource(finding) for finding in of_role) else "ok"


def _find_resolved(known: Known, rows: Sequence[AuditRow], findings: Sequence[Finding]) -> list[ResolvedFinding]:
    """Return the earlier findings that were checked again and no longer exist.

    known: findings of earlier audits, by fingerprint. findings: of this audit.
    """
    checked = list_checked_parts(rows, findings)
    current = {finding["fingerprint"] for finding in findings}
    resolved: list[ResolvedFinding] = [
        {
            "fingerprint": fingerprint,
            "rule": finding.get("rule", ""),
            "account": finding.get("account", ""),
            "resource": finding.get("resource", ""),
            "since": finding.get("since", ""),
        }
        for fingerprint, finding in known.items()
        if fingerprint not in current and checked.include(finding)
    ]
    return sorted(
        resolved, key=lambda entry: (entry["account"], entry["rule"], entry["resource"], entry["fingerprint"])
    )


def merge_known(known: Known, report: AuditReport, rows: Sequence[AuditRow]) -> Known:
    """Return the findings to remember: those of this report with their fixes, and earlier ones that are unresolved.

    known: the findings of earlier audits, by fingerprint. rows: have the fixes, which the report omits.
    """
    fixes = {
        fingerprint_finding(finding["rule"], row["name"], finding["resource"], finding["place"]): finding["auto_fix"]
        for row in rows
        for finding in row["findings"]
        if "auto_fix" in finding
    }
    resolved = {entry["fingerprint"] for entry in report["resolved"]}
    current = {
        finding["fingerprint"]: {
            "rule": finding["rule"],
            "account": finding["account"],
            "capability": finding["capability"],
            "resource": finding["resource"],
            "since": finding["since"],
            "state": hash_state(finding),
            **_pack_fix(finding, fixes.get(finding["fingerprint"])),
        }
        for finding in report["findings"]
    }
    return {**{fingerprint: entry for fingerprint, entry in known.items() if fingerprint not in resolved}, **current}


def _pack_fix(finding: Finding, fix: ResourceEntry | None) -> dict[str, str]:
    """Return the fields that fix.yml needs to fix a finding; none if the finding is waived or has no fix."""
    if finding["waiver"] or fix is None:
        return {}
    return {"place": finding["place"], "text": finding["text"], "auto_fix": json.dumps(fix, sort_keys=True)}


def _summarise(
    run: AuditRun, accounts: Sequence[AuditedAccount], findings: Sequence[Finding], resolved: Sequence[ResolvedFinding]
) -> AuditSummary:
    """Return the totals of the report, and the verdict: whether the run fails, why, and its exit code."""
    unwaived = [finding for finding in findings if not finding["waiver"]]
    severities = Counter(finding["severity"] for finding in unwaived)
    classes = Counter(finding["class"] for finding in unwaived)
    checks, ok = sum(account["checks"] for account in accounts), sum(account["ok"] for account in accounts)
    unmeasured = sum(finding["rule"] == "RUN-001" for finding in findings)
    unknown = [account["name"] for account in accounts if account["state"] == "unknown"]
    reasons = _list_reasons(run, unwaived, unknown)
    return {
        "accounts": len(accounts),
        "measured": len(accounts) - len(unknown),
        "unknown": len(unknown),
        "checks": checks,
        "ok": ok,
        "coverage_pct": _compute_coverage(checks, unmeasured, accounts),
        "by_severity": _count_severities(severities),
        "by_class": {name: classes[name] for name in CLASSES if classes[name]},
        "waived": sum(finding["waiver"] is not None for finding in findings),
        "new": sum(finding["new"] for finding in unwaived),
        "changed": sum(finding["changed"] for finding in unwaived),
        "resolved": len(resolved),
        "accepted": sum(finding["baseline"] == "unchanged" for finding in unwaived),
        "failed": bool(reasons),
        "exit": 2 if reasons else 0,
        "reasons": reasons,
    }


def _count_severities(counts: Counter[Severity]) -> BySeverity:
    """Return the counts of all severities, also those that are 0."""
    return {
        "critical": counts["critical"],
        "high": counts["high"],
        "medium": counts["medium"],
        "low": counts["low"],
        "info": counts["info"],
    }


def _compute_coverage(checks: int, unmeasured: int, accounts: Sequence[AuditedAccount]) -> int:
    """Return the measured share of all checks in percent, rounded down. unmeasured: number of RUN-001 findings.

    The number of checks of an unmeasured account is unknown, so it is taken as the average of the measured accounts.
    """
    measured = [account for account in accounts if account["state"] == "measured"]
    if not measured:
        return 0  # no account was measured, or the run has no accounts
    share = (checks - min(unmeasured, checks)) / checks if checks else 1.0
    return int(100 * share * len(measured) / len(accounts))


def _list_reasons(run: AuditRun, unwaived: Sequence[Finding], unknown: Sequence[str]) -> list[str]:
    """Return the reasons why the run fails, as phrases; empty if the run passes. unknown: the unmeasured accounts.

    Findings of the baseline never fail a run; unmeasured accounts and resources only if the user asked for that.
    """
    reasons = []
    if run["fail_on"] != "never":
        severe = SEVERITIES[: SEVERITIES.index(run["fail_on"]) + 1]
        failing = [finding for finding in unwaived if finding["severity"] in severe and _is_new_difference(finding)]
        if failing:
            reasons.append(f"{count(len(failing), 'finding')} with severity {run['fail_on']} or worse")
    if run["incomplete"] == "fail":
        without_waiver = {finding["account"] for finding in unwaived if finding["rule"] == "RUN-002"}
        if missed := set(unknown) & without_waiver:
            reasons.append(f"{count(len(missed), 'account')} could not be measured")
        if resources := [finding for finding in unwaived if is_unmeasured_resource(finding)]:
            reasons.append(f"{count(len(resources), 'declared resource')} could not be measured")
    return reasons


def _is_new_difference(finding: Finding) -> bool:
    """Return True for a finding outside the baseline, unless it only reports that something was not measured."""
    return finding["baseline"] == "new" and finding["rule"] not in UNMEASURED


def unmeasured_row(name: str, reason: str, account: AccountSite) -> AuditRow:
    """Return the row of an account that could not be measured. account: its cluster, site and profile."""
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
