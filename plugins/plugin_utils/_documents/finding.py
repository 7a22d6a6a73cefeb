# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an audit finds and reports, as docs/schemas/audit.schema.json has it."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .declaration import ResourceEntry
from .fix import Fix
from .outcome import Severity, State

Class = Literal["missing", "changed", "stale", "unmanaged", "orphan", "broken", "at_risk", "not_applicable", "unknown"]
Cause = Literal["spec", "hand", "site", "time", "unknown"]
Cell = Literal["ok", "critical", "high", "medium", "low", "info", "not_applicable", "unknown"]
"""What a capability of an account comes to: the worst that counts."""

_Classed = TypedDict("_Classed", {"class": Class})  # the schema's own word, which Python keeps for itself


class Difference(_Classed):
    """A difference that was found. place: a path with its line on the account, or nothing."""

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
    """A difference as the look at one account tells it.

    auto_fix: what fix.yml does about it. blocked: onboarding would not put it right. in_the_way: the path of the user's
    own thing there. case: which advice fits, where a rule has several. fix: where no command of ours fixes it. diff: of
    what has several lines.
    """

    auto_fix: NotRequired[ResourceEntry]
    blocked: NotRequired[bool]
    in_the_way: NotRequired[str]
    case: NotRequired[str]
    fix: NotRequired[Fix]
    diff: NotRequired[list[str]]


class Excuse(TypedDict):
    """Why a finding does not count, until which day, who says so, and in which line of which file."""

    justification: str
    expires: str
    by: str
    where: str


class SourceLine(TypedDict):
    """The line of a file of ours."""

    file: str
    line: int


class Finding(Difference):
    """A difference as the report tells it. since: the day on which it was first found. help: where to read about it.

    new: no audit before this one found it. changed: the last one found it in another state. baseline: 'unchanged' where
    the baseline file has it. event: the text without the account's own names. diff: lines of a unified diff from the
    desired to the actual content, without keys.
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
    declared: SourceLine | None
    help: str


class ProfileStatus(TypedDict):
    """How far a cluster's profile can be trusted."""

    verified_on: str
    status: str


class AccountSite(TypedDict):
    """Where an account is."""

    cluster: str
    site: str
    profile: ProfileStatus


class AuditedAccount(AccountSite):
    """An account's line of the report. seconds: of the engine's work there. next: what to do where it was not seen."""

    name: str
    state: Literal["measured", "unknown"]
    reason: str
    next: Fix
    seconds: float
    checks: int
    ok: int
    capabilities: dict[str, Cell]


class AuditRow(AuditedAccount):
    """What the look at one account came to."""

    findings: list[FoundDifference]
    declared: SourceLine | None
    project: str


class AuditRun(TypedDict):
    """What was run. seconds: from its beginning. since: 'last' for a report of what is new, changed or resolved."""

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
    """How many findings of each severity count."""

    critical: int
    high: int
    medium: int
    low: int
    info: int


class AuditSummary(TypedDict):
    """The numbers, and what the audit comes to.

    new, changed, resolved: since the last audit. accepted: in the baseline.
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
    """What was found before, was looked for again, and is there no more."""

    fingerprint: str
    rule: str
    account: str
    resource: str
    since: str


class WaiverEntry(Excuse):
    """An entry of the waivers file. account and resource are patterns. state: whether it did anything in this run."""

    rule: str
    account: str
    resource: str
    state: Literal["used", "unused", "expired"]


class FormerAudit(TypedDict):
    """A run before this one. new, resolved: since the run before it; None if that is not known."""

    started: str
    accounts: int
    unknown: int
    by_severity: BySeverity
    new: int | None
    resolved: int | None


class AuditReport(TypedDict):
    """The report of all accounts."""

    schema: str
    run: AuditRun
    summary: AuditSummary
    accounts: list[AuditedAccount]
    findings: list[Finding]
    resolved: list[ResolvedFinding]
    waivers: list[WaiverEntry]
    history: list[FormerAudit]
