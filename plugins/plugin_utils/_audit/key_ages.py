# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine knows of an account's keys without looking at the account: their versions, kinds and last days."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

from .._secrets.versions import Secret
from .._state.fingerprint_key import local_key, state_folder
from .rules import RULES, WATCHED

if TYPE_CHECKING:
    from .._documents.finding import FoundDifference
    from .._documents.outcome import Severity
    from .._secrets.key_marks import Marks

SOON, VERY_SOON = timedelta(days=30), timedelta(days=7)
REPLACED = ("previous", "retired")


def known(names: Iterable[str]) -> dict[str, Secret]:
    """The versions of these secrets; those that were never rotated have none. Raises StateError, VersionError."""
    rotated = [name for name in sorted(names) if (state_folder() / "secrets" / f"{name}.json").exists()]
    if not rotated:
        return {}
    from .._secrets.version_store import VersionStore  # few keys were ever rotated

    found = {name: VersionStore(name, bytes.fromhex(local_key())).load() for name in rotated}
    return {name: secret for name, secret in found.items() if secret}


def old_keys(secrets: Mapping[str, Secret], marks: Marks) -> dict[str, str]:
    """The fingerprints of keys that were replaced, as an account's states show them, and of which secret each is."""
    return {
        marks[name, version.id]: name
        for name, secret in secrets.items()
        for version in secret.versions
        if (name, version.id) in marks and version.label not in ("current", "pending")
    }


def marks(secrets: Mapping[str, Secret], account: str) -> Marks:
    """The fingerprints of all their versions, as that account shows them."""
    if not secrets:
        return {}
    from .._secrets import key_marks  # few keys were ever rotated

    return key_marks.account_marks(secrets, account, bytes.fromhex(local_key()))


def findings(secrets: Mapping[str, Secret], today: date) -> list[FoundDifference]:
    """What is to be said of these secrets on that day."""
    return [_finding(name, *one) for name, secret in secrets.items() for one in _of_secret(secret, today)]


def _of_secret(secret: Secret, today: date) -> Iterator[tuple[str, Severity | Literal[""], str]]:
    current = secret.current
    last = current.expires[:10]
    if last and last < today.isoformat():
        yield "KEY-007", "high", f"Its last day was {last}."
    elif last and last <= (today + SOON).isoformat():
        severity: Severity | Literal[""] = "high" if last <= (today + VERY_SOON).isoformat() else ""
        yield "KEY-007", severity, f"Its last day is {last}."
    if current.kind == "legacy":
        yield "KEY-008", "", "It is a key of the older kind, of which there is one at a time."
    for version in secret.with_labels(*REPLACED):
        since = f" since {current.issued[:10]}" if current.issued else ""
        yield (
            "KEY-011",
            "",
            f"The key before it ({version.fingerprint or version.id}) was replaced{since}, and may still work.",
        )


def _finding(name: str, rule: str, severity: Severity | Literal[""], text: str) -> FoundDifference:
    what, cause = WATCHED[rule]
    return {
        "rule": rule,
        "capability": "watch",
        "resource": f"key '{name}'",
        "place": "",
        "class": what,
        "cause": cause,
        "severity": severity or RULES[rule].severity,
        "text": text,
        "desired": {},
        "actual": {},
    }
