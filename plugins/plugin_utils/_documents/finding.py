# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings and the report of an audit (docs/schemas/audit.schema.json)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .declaration import ResourceEntry
from .fix import Fix
from .outcome import Severity, State

Class = Literal["missing", "changed", "stale", "unmanaged", "orphan", "broken", "at_risk", "not_applicable", "unknown"]
Cause = Literal["spec", "hand", "site", "time", "unknown"]
Owner = Literal["user", "group", "site"]
"""The owner of a rule, who can fix its problems: the user, the leader of the user's group, or only the site."""
Cell = Literal["ok", "critical", "high", "medium", "low", "info", "not_applicable", "unknown"]
"""The result for a role on an account: the severity of its most severe finding, or another state."""

_Classed = TypedDict("_Classed", {"class": Class})  # `class` is a keyword, so the class syntax cannot declare it


class Difference(_Classed):
    """A difference between desired and actual state. place: path and line on the account, or empty."""

    rule: str
    capability: str
    resource: str
    place: str
    cause: Cause
    severity: Severity
    text: str
    desired: State
    actual: State


class FoundDifference(Difference):
    """A difference as the audit of one account returns it.

    auto_fix: the resource with which fix.yml fixes it. blocked: onboarding cannot fix it. in_the_way: the path of the
    user's file in its place. case: selects the advice if a rule has several. secret: name of the key that the finding
    is about. fix: manual steps, if no subcommand fixes it. diff: of content with several lines.
    """

    auto_fix: NotRequired[ResourceEntry]
    blocked: NotRequired[bool]
    in_the_way: NotRequired[str]
    case: NotRequired[str]
    secret: NotRequired[str]
    fix: NotRequired[Fix]
    diff: NotRequired[list[str]]


class Excuse(TypedDict):
    """A waiver. expires: its last day. by: who accepts the finding. where: file and line of the waiver."""

    justification: str
    expires: str
    by: str
    where: str


class SourceLine(TypedDict):
    """A line of an accounts file."""

    file: str
    line: int


class Finding(Difference):
    """A difference in the report. since: the day of the first audit that found it. help: address of its documentation.

    new: no earlier audit found it. changed: the last audit found a different state. baseline: 'unchanged' if the
    baseline file contains it. event: the text without names of the account, to group equal findings. diff: lines of a
    unified diff from the desired to the actual content, without keys.
    """

    account: str
    event: str
    since: str
    new: bool
    changed: bool
    diff: list[str]
    baseline: Literal["new", "unchanged"]
    waiver: Excuse | None
    fingerprint: str
    fix: Fix
    owner: Owner
    declared: SourceLine | None
    help: str


class ProfileStatus(TypedDict):
    """When and how a cluster's profile was verified."""

    verified_on: str
    status: str


class AccountSite(TypedDict):
    """Cluster, site and profile of an account."""

    cluster: str
    site: str
    profile: ProfileStatus


class AuditedAccount(AccountSite):
    """An account in the report. seconds: how long the engine worked. next: what to do if it was not checked."""

    name: str
    state: Literal["measured", "unknown"]
    reason: str
    next: Fix
    seconds: float
    checks: int
    ok: int
    capabilities: dict[str, Cell]


class AuditRow(AuditedAccount):
    """The result of the audit of one account."""

    findings: list[FoundDifference]
    declared: SourceLine | None
    project: str


class AuditRun(TypedDict):
    """The options of the audit. since: 'last' if the report has only new, changed and resolved findings."""

    id: str
    started: str
    seconds: float
    tool: str
    ansible: str
    playbook: str
    limit: str
    tags: list[str]
    fail_on: Literal["critical", "high", "medium", "low", "info", "never"]
    incomplete: Literal["fail", "ignore"]
    since: Literal["", "last"]


class BySeverity(TypedDict):
    """Numbers of findings by severity, without waived ones."""

    critical: int
    high: int
    medium: int
    low: int
    info: int


class AuditSummary(TypedDict):
    """The numbers and the result of an audit.

    new, changed, resolved: findings since the last audit. accepted: findings in the baseline.
    """

    accounts: int
    measured: int
    unknown: int
    checks: int
    ok: int
    coverage_pct: int
    by_severity: BySeverity
    by_class: dict[Class, int]
    waived: int
    new: int
    changed: int
    resolved: int
    accepted: int
    failed: bool
    exit: Literal[0, 2]
    reasons: list[str]


class ResolvedFinding(TypedDict):
    """A finding of an earlier audit that this one checked and no longer found."""

    fingerprint: str
    rule: str
    account: str
    resource: str
    since: str


class WaiverEntry(Excuse):
    """An entry of the waivers file. account, resource: patterns. state: 'used' if it matched a finding of this run.

    'not_checked' if it matched none, but the run did not check everything that the waiver may cover.
    """

    rule: str
    account: str
    resource: str
    state: Literal["used", "unused", "not_checked", "expired"]


class FormerAudit(TypedDict):
    """An earlier audit. new, resolved: since the audit before it; None if unknown."""

    started: str
    accounts: int
    unknown: int
    by_severity: BySeverity
    new: int | None
    resolved: int | None


class AuditReport(TypedDict):
    """The report of an audit."""

    schema: str
    run: AuditRun
    summary: AuditSummary
    accounts: list[AuditedAccount]
    findings: list[Finding]
    resolved: list[ResolvedFinding]
    waivers: list[WaiverEntry]
    history: list[FormerAudit]
