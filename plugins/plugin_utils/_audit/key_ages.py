# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine knows of an account's keys by itself: their versions, types and last days."""

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
REPLACED = ("previous", "retired")


def read_versions(names: Iterable[str]) -> dict[str, Secret]:
    """Return the versions of these secrets, if they were ever rotated. Raises StateError, VersionError."""
    rotated = [name for name in sorted(names) if (state_folder() / "secrets" / f"{name}.json").exists()]
    if not rotated:
        return {}
    found = {name: VersionStore(name, bytes.fromhex(local_key())).load() for name in rotated}
    return {name: secret for name, secret in found.items() if secret}


def map_old_keys(secrets: Mapping[str, Secret], marks: Marks) -> dict[str, str]:
    """Return fingerprint -> name of the secret for replaced keys, as the account shows fingerprints."""
    return {
        marks[name, version.id]: name
        for name, secret in secrets.items()
        for version in secret.versions
        if (name, version.id) in marks and version.label not in ("current", "pending")
    }


def map_fingerprints(secrets: Mapping[str, Secret], account: str) -> Marks:
    """Return the fingerprints of all versions as the account shows them, by name and version."""
    if not secrets:
        return {}
    return key_marks.account_marks(secrets, account, bytes.fromhex(local_key()))


def key_findings(secrets: Mapping[str, Secret], today: date) -> list[FoundDifference]:
    """Return the findings about these secrets on that day."""
    return [
        simple_finding(rule, f"key '{name}'", text, severity=severity)
        for name, secret in secrets.items()
        for rule, severity, text in _problems_of(secret, today)
    ]


def _problems_of(secret: Secret, today: date) -> Iterator[tuple[str, Severity | Literal[""], str]]:
    current = secret.current
    last = current.expires[:10]
    if last and last < today.isoformat():
        yield "KEY-007", "high", f"The key expired on {last}."
    elif last and last <= (today + SOON).isoformat():
        severity: Severity | Literal[""] = "high" if last <= (today + VERY_SOON).isoformat() else ""
        yield "KEY-007", severity, f"The key expires on {last}."
    if current.kind == "legacy":
        yield "KEY-008", "", "The key is of the older type, which its issuer no longer creates."
    for version in secret.with_labels(*REPLACED):
        since = f" on {current.issued[:10]}" if current.issued else ""
        key = version.fingerprint or version.id
        yield "KEY-011", "", f"The key before it ({key}) was replaced{since}, and may still work."
