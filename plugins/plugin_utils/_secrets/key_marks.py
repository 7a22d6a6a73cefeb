# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fingerprints that accounts show of the versions of a secret, each account another one.

An account makes them with a key of its own, from the hash of a value. So that they can be told here after the value is
gone, a version's record keeps that hash, sealed with a pad of this machine's key: without the key it is noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from .._state.fingerprint_key import derived, shown_by
from . import versions
from .backends import MissingKey
from .session import SESSION
from .versions import Secret, Version

Marks = dict[tuple[str, str], str]
"""By secret and version: the fingerprint as one account shows it, 'key ' and twelve hexadecimal digits."""


def sealed(value: str, name: str, version: str, key: bytes) -> str:
    """The hash of a version's value, as its record keeps it. key: this machine's own."""
    return _padded(hashlib.sha256(value.encode()).digest(), name, version, key).hex()


def _padded(digest: bytes, name: str, version: str, key: bytes) -> bytes:
    pad = derived(key, "seal of a version", f"{name}@{version}")
    return bytes(one ^ other for one, other in zip(digest, pad, strict=True))


def marks(secrets: Mapping[str, Secret], account: str, key: bytes) -> Marks:
    """The fingerprints of all versions that can be told: by their records, or while their value is in the keyring."""
    found = {}
    for name, secret in secrets.items():
        for one in secret.versions:
            digest = _digest(name, one, key)
            if digest:
                found[name, one.id] = shown_by(account, digest)
    return found


def _digest(name: str, version: Version, key: bytes) -> bytes | None:
    """The hash of the value. Records of 0.1.0 do not hold it."""
    if version.sealed:
        return _padded(bytes.fromhex(version.sealed), name, version.id, key)
    if version.label == "purged":
        return None
    try:
        value, _warnings = SESSION.value(versions.username(name, version.id))
    except MissingKey:
        return None
    return hashlib.sha256(value.encode()).digest()
