# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold the key that unlocks an encrypted file for a limited time, for `keyring unlock`.

A holder is a place in memory that outlives the command. Each holder is a module with the functions hold, find and drop.
"""

from __future__ import annotations

import json
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from . import holder_process, kernel_keyring

HOLDERS = (kernel_keyring, holder_process)  # the preferred holder first
NAME_PREFIX = "hpc.onboard-unlocked-"


class HeldKey(NamedTuple):
    """A held key. key_id: Header.key_id() of its file. key: in hexadecimal. until: in seconds since 1970.

    holder: a description for the user.
    """

    key_id: str
    key: str
    until: float
    holder: str = ""


class CannotHold(Exception):
    """This machine has no way to hold a key."""


def hold(file: Path, key_id: str, key: bytes, seconds: int) -> HeldKey:
    """Hold the key of a file for this number of seconds, in place of a former key. Return the held key.

    key_id: Header.key_id() of the file. Raise CannotHold.
    """
    drop(file)  # another holder may hold the former key
    held = HeldKey(key_id, key.hex(), time.time() + seconds)
    payload = json.dumps([held.key_id, held.key, held.until]).encode()
    for holder in HOLDERS:
        if holder.hold(_name(file), payload, seconds):
            return held._replace(holder=holder.TITLE)
    raise CannotHold("neither the kernel's keyring nor a background process can hold the key on this machine")


def find(file: Path) -> HeldKey | None:
    """Return the held key of a file, or None.

    The key does not open the file if the passphrase was changed since the key was held.
    """
    for holder in HOLDERS:
        try:
            key_id, key, until = json.loads(holder.find(_name(file)) or b"null")
            held = HeldKey(str(key_id), str(key), float(until), holder.TITLE)
            bytes.fromhex(held.key)  # raises ValueError if the key is not hexadecimal
        except (ValueError, TypeError):  # this holder has no key, or a payload in another format
            continue
        if held.until > time.time():
            return held
    return None


def drop(file: Path) -> bool:
    """Remove the held key of a file. Return False if no key was held."""
    was_held = [holder.drop(_name(file)) for holder in HOLDERS]  # a list, so that every holder drops the key
    return any(was_held)


def _name(file: Path) -> str:
    """Return the name under which the key of a file is held; it does not reveal the file's path."""
    return f"{NAME_PREFIX}{sha256(os.path.abspath(file).encode()).hexdigest()[:16]}"
