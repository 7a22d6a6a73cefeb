# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of an audit (docs/schemas/audit-digest.schema.json)."""

from __future__ import annotations

from typing import Literal, TypedDict

from .finding import BySeverity
from .outcome import Severity


class DigestEvent(TypedDict):
    """Findings with one cause. place, age: empty unless all findings share them. some: the first of the accounts."""

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
    """A resource that is up to date again. accounts: on how many. some: the first of them."""

    rule: str
    resource: str
    accounts: int
    some: list[str]


class DigestUnknown(TypedDict):
    """Accounts that could not be checked for the same reason."""

    reason: str
    accounts: int
    some: list[str]


class AuditDigest(TypedDict):
    """The digest of an audit. last: when the last audit started, or empty. next: commands to run, without accounts."""

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
