# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fingerprints that accounts show of the versions of a secret; each account shows another one.

An account makes them with a key of its own, from the hash of a value. To recognise them after the value is gone, a
version's record keeps that hash, sealed with a pad of this machine's key: without the key it is noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date

from .._state.fingerprint_key import account_fingerprint, derive_key, local_key, state_folder
from . import versions
from .backends import MissingKey
from .session import SESSION
from .versions import KeyVersion, Secret

Marks = dict[tuple[str, str], str]
"""By secret and version: the fingerprint as one account shows it, 'key ' and twelve hexadecimal digits."""


def seal(value: str, name: str, version: str, key: bytes) -> str:
    """Return the sealed hash of a version's value, for its record. key: this machine's own."""
    return _apply_pad(hashlib.sha256(value.encode()).digest(), name, version, key).hex()


def _apply_pad(digest: bytes, name: str, version: str, key: bytes) -> bytes:
    pad = derive_key(key, "seal of a version", f"{name}@{version}")
    return bytes(one ^ other for one, other in zip(digest, pad, strict=True))


def account_marks(secrets: Mapping[str, Secret], account: str, key: bytes) -> Marks:
    """Return the fingerprints of all versions that have a sealed hash, or whose value is in the keyring."""
    found = {}
    for name, secret in secrets.items():
        for one in secret.versions:
            digest = _value_digest(name, one, key)
            if digest:
                found[name, one.id] = account_fingerprint(account, digest)
    return found


def describe_keys(account: str, values: Mapping[str, str], today: date) -> dict[str, str]:
    """Return fingerprint as the account shows it -> 'key ngc, 12 days old', of these keys and of those before them.

    values: name of a secret -> its current value. Raises StateError, VersionError.
    """
    found = {
        account_fingerprint(account, hashlib.sha256(value.encode()).digest()): f"key {name}"
        for name, value in values.items()
    }
    if not (state_folder() / "secrets").is_dir():
        return found
    from .version_store import VersionStore  # few keys were ever rotated

    key = bytes.fromhex(local_key())
    secrets = {name: secret for name in values if (secret := VersionStore(name, key).load())}
    for (name, version), mark in account_marks(secrets, account, key).items():
        found[mark] = f"key {name}{_describe_age(secrets[name].find_version(version).issued, today)}"
    return found


def _describe_age(issued: str, today: date) -> str:
    if not issued:
        return ""
    days = (today - date.fromisoformat(issued[:10])).days
    return ", new today" if days <= 0 else f", {days} day{'s' if days > 1 else ''} old"


def _value_digest(name: str, version: KeyVersion, key: bytes) -> bytes | None:
    """Return the hash of the value. Records that came from another machine do not hold it."""
    if version.sealed:
        return _apply_pad(bytes.fromhex(version.sealed), name, version.id, key)
    if version.label == "purged":
        return None
    try:
        value, _warnings = SESSION.value(versions.keyring_name(name, version.id))
    except MissingKey:
        return None
    return hashlib.sha256(value.encode()).digest()
