# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold the key that unlocks an encrypted file for a limited time, for `keyring unlock`."""

from __future__ import annotations

import json
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from . import holder_process, kernel_keyring

HOLDERS = (kernel_keyring, holder_process)  # in order of preference
NAME = "hpc.onboard-unlocked-"


class HeldKey(NamedTuple):
    """A held key. key_id: Header.key_id() of its file. until: seconds since 1970. holder: description for the user."""

    key_id: str
    key: str
    until: float
    holder: str = ""


class CannotHold(Exception):
    """This machine has no way to hold a key."""


def hold(file: Path, key_id: str, key: bytes, seconds: int) -> HeldKey:
    """Hold the key of a file for so many seconds, and return the held key. Replace a former key. Raise CannotHold."""
    drop(file)  # another holder may hold the former key
    held = HeldKey(key_id, key.hex(), time.time() + seconds)
    for holder in HOLDERS:
        # without the field `holder`: find() knows which holder returned the payload
        if holder.hold(_name(file), json.dumps(held[:3]).encode(), seconds):
            return held._replace(holder=holder.TITLE)
    raise CannotHold("neither the kernel's keyring nor a background process can hold the key on this machine")


def find(file: Path) -> HeldKey | None:
    """Return the held key of a file, or None. The key does not open the file if the passphrase was changed since."""
    for holder in HOLDERS:
        try:
            key_id, key, until = json.loads(holder.find(_name(file)) or b"null")
            held = HeldKey(str(key_id), str(key), float(until), holder.TITLE)
            bytes.fromhex(held.key)  # raises ValueError for another form
        except (ValueError, TypeError):  # this holder has no key, or not in our form
            continue
        if held.until > time.time():
            return held
    return None


def drop(file: Path) -> bool:
    """Remove the held key of a file. Return False if no key was held."""
    with_key = [holder for holder in HOLDERS if holder.drop(_name(file))]  # all holders drop the key
    return bool(with_key)


def _name(file: Path) -> str:
    """Return the name under which the key of a file is held; it does not reveal the file's path."""
    return f"{NAME}{sha256(os.path.abspath(file).encode()).hexdigest()[:16]}"
