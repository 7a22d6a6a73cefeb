# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions of an account's keys, as this machine has recorded them, and findings about expiry and old types.

A rotation replaces the key of a secret by a new version. The label of a version is "pending" before the new key is
used, then "current", and "previous" or "retired" after it was replaced. An account reports a key only as a fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

from .._secrets import key_marks
from .._secrets.version_store import VersionStore
from .._secrets.versions import Secret
from .._state.fingerprint_key import local_key, state_folder
from .findings import simple_finding

if TYPE_CHECKING:
    from .._documents.finding import FoundDifference
    from .._documents.outcome import Severity
    from .._secrets.key_marks import Marks

SOON, VERY_SOON = timedelta(days=30), timedelta(days=7)
REPLACED = ("previous", "retired")  # labels of versions that were replaced, but that may still work


def read_versions(names: Iterable[str]) -> dict[str, Secret]:
    """Return name -> secret with its versions, for those of these secrets that were ever rotated.

    Raises StateError.
    """
    rotated = [name for name in sorted(names) if (state_folder() / "secrets" / f"{name}.json").exists()]
    if not rotated:
        return {}
    secrets = {name: VersionStore(name, bytes.fromhex(local_key())).load() for name in rotated}
    return {name: secret for name, secret in secrets.items() if secret}


def map_old_keys(secrets: Mapping[str, Secret], marks: Marks) -> dict[str, str]:
    """Return fingerprint -> name of the secret for each replaced key. marks: from map_fingerprints()."""
    return {
        marks[name, version.id]: name
        for name, secret in secrets.items()
        for version in secret.versions
        if (name, version.id) in marks and version.label not in ("current", "pending")
    }


def map_fingerprints(secrets: Mapping[str, Secret], account: str) -> Marks:
    """Return (name of the secret, id of the version) -> fingerprint that this account reports for the key."""
    if not secrets:
        return {}
    return key_marks.list_account_marks(secrets, account, bytes.fromhex(local_key()))


def key_findings(secrets: Mapping[str, Secret], today: date) -> list[FoundDifference]:
    """Return the findings about the expiry, the type and the replaced versions of these secrets."""
    return [
        {**simple_finding(rule, f"key '{name}'", text, severity=severity), "secret": name, "case": case}
        for name, secret in secrets.items()
        for rule, severity, text, case in _find_problems(secret, today)
    ]


def _find_problems(secret: Secret, today: date) -> Iterator[tuple[str, Severity | Literal[""], str, str]]:
    """Yield rule, severity (empty for the rule's own), text and case of each problem of a secret's versions today.

    case: the key of the advice in the rule's cases; empty for the usual advice.
    """
    current = secret.current
    last_day = current.expires  # empty if the key does not expire
    if last_day and last_day < today.isoformat():
        yield "KEY-007", "high", f"The key expired on {last_day}.", ""
    elif last_day and last_day <= (today + SOON).isoformat():
        severity: Severity | Literal[""] = "high" if last_day <= (today + VERY_SOON).isoformat() else ""
        yield "KEY-007", severity, f"The key expires on {last_day}.", ""
    if current.kind == "legacy":
        yield "KEY-008", "", "This is a legacy key, which never expires and has all permissions of its user.", ""
    for version in secret.with_labels(*REPLACED):
        key = version.fingerprint or version.id
        if version.sequence > current.sequence:  # its rotation was cancelled, so the current key is the older one
            text = f"The new key ({key}), whose rotation was cancelled, may still work. The current key is the old key."
            yield "KEY-011", "", text, "cancelled"
            continue
        on_day = f" on {current.issued}" if current.issued else ""  # the current key replaced this version
        yield "KEY-011", "", f"The previous key ({key}) was replaced{on_day} but may still work.", ""
