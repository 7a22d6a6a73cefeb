# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fingerprints that accounts report for the versions of a secret. Each account reports a different fingerprint.

An account makes a fingerprint from the hash of a key, with the account's own secret. To recognise the fingerprint after
the key was removed from the keyring, the version's record contains the hash, encrypted with this machine's secret key.
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
"""(secret, version) -> the version's fingerprint on one account: 'key ' and twelve hexadecimal digits."""


def encrypt_hash(value: str, name: str, version: str, key: bytes) -> str:
    """Return the encrypted hash of a version's value, for the version's record.

    name: of the secret. version: the version's id. key: this machine's secret key.
    """
    return _apply_pad(hashlib.sha256(value.encode()).digest(), name, version, key).hex()


def _apply_pad(digest: bytes, name: str, version: str, key: bytes) -> bytes:
    """Encrypt a hash with the one-time pad of its version, or decrypt it. Parameters: see encrypt_hash()."""
    pad = derive_key(key, "seal of a version", f"{name}@{version}")
    return bytes(left ^ right for left, right in zip(digest, pad, strict=True))


def list_account_marks(secrets: Mapping[str, Secret], account: str, key: bytes) -> Marks:
    """Return the fingerprints of all versions with an encrypted hash or with a value in the keyring.

    secrets: by name. account: whose fingerprints to return. key: this machine's secret key.
    """
    marks = {}
    for name, secret in secrets.items():
        for version in secret.versions:
            digest = _find_digest(name, version, key)
            if digest:
                marks[name, version.id] = account_fingerprint(account, digest)
    return marks


def describe_keys(account: str, values: Mapping[str, str], today: date) -> dict[str, str]:
    """Return a text such as 'key ngc, 12 days old' for each version of the keys, by its fingerprint on the account.

    values: the current value of each key, by the key's name. Raise StateError.
    """
    descriptions = {
        account_fingerprint(account, hashlib.sha256(value.encode()).digest()): f"key {name}"
        for name, value in values.items()
    }
    if not (state_folder() / "secrets").is_dir():
        return descriptions  # no key was ever rotated, so no age is known
    from .version_store import VersionStore  # imported late: few keys were ever rotated

    key = bytes.fromhex(local_key())
    secrets = {name: secret for name in values if (secret := VersionStore(name, key).load())}
    for (name, version), mark in list_account_marks(secrets, account, key).items():
        descriptions[mark] = f"key {name}{_format_age_suffix(secrets[name].find_version(version).issued, today)}"
    return descriptions


def _format_age_suffix(issued: str, today: date) -> str:
    """Return ", 12 days old"; empty if the day of issue is unknown. issued: this day, or empty."""
    if not issued:
        return ""
    days = (today - date.fromisoformat(issued)).days
    return ", new today" if days <= 0 else f", {days} day{'s' if days > 1 else ''} old"


def _find_digest(name: str, version: KeyVersion, key: bytes) -> bytes | None:
    """Return the hash of a version's value; None if neither this machine's record nor the keyring has it."""
    if version.sealed:
        return _apply_pad(bytes.fromhex(version.sealed), name, version.id, key)
    if version.label == "purged":
        return None  # its value was removed from the keyring
    try:
        value, _warnings = SESSION.read_key(versions.keyring_name(name, version.id))
    except MissingKey:
        return None
    return hashlib.sha256(value.encode()).digest()
