# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a digest of an audit says, as docs/schemas/audit-digest.schema.json has it."""

from __future__ import annotations

from typing import Literal, TypedDict

from .finding import BySeverity
from .outcome import Severity


class DigestEvent(TypedDict):
    """Findings that are one event. place, age: of all of them, or empty. some: the first of the accounts."""

    severity: Severity
    rule: str
    text: str
    place: str
    age: str
    recent: bool
    findings: int
    accounts: int
    some: list[str]


class DigestResolved(TypedDict):
    """A resource that is up to date again on so many accounts."""

    rule: str
    resource: str
    accounts: int
    some: list[str]


class DigestUnknown(TypedDict):
    """Accounts that could not be checked, for one reason."""

    reason: str
    accounts: int
    some: list[str]


class AuditDigest(TypedDict):
    """An audit in a few lines. last: when the last audit started, or empty. next: commands, without accounts."""

    schema: str
    run: str
    started: str
    since: Literal["", "last"]
    last: str
    verdict: str
    failed: bool
    reasons: list[str]
    by_severity: BySeverity
    new: int
    changed: int
    resolved: int
    unchanged: int
    events: list[DigestEvent]
    resolutions: list[DigestResolved]
    unknown: list[DigestUnknown]
    next: list[list[str]]
