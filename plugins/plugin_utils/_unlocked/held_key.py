# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `keyring unlock` keeps: the key that unlocks one encrypted file, for a time. No passphrase, and no value."""

from __future__ import annotations

import json
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from . import holder_process, kernel_keyring

HOLDERS = (kernel_keyring, holder_process)  # the first that holds it is used
NAME = "hpc.onboard-unlocked-"


class HeldKey(NamedTuple):
    """A key. key_id: of the passphrase that makes it. until: seconds since 1970. holder: in words."""

    key_id: str
    key: str
    until: float
    holder: str = ""


class CannotHold(Exception):
    """Nothing on this machine can hold a key."""


def hold(file: Path, key_id: str, key: bytes, seconds: int) -> HeldKey:
    """Hold the key of a file for so long, instead of one that is held. Raises CannotHold."""
    drop(file)  # by whatever holder
    held = HeldKey(key_id, key.hex(), time.time() + seconds)
    for holder in HOLDERS:
        if holder.hold(_name(file), json.dumps(held[:3]).encode(), seconds):
            return held._replace(holder=holder.TITLE)
    raise CannotHold("neither the kernel's keyring nor a process of its own can hold its key here")


def find(file: Path) -> HeldKey | None:
    """Return the key that is held for a file, whatever its passphrase is now; None if there is none."""
    for holder in HOLDERS:
        try:
            key_id, key, until = json.loads(holder.find(_name(file)) or b"null")
            held = HeldKey(str(key_id), str(key), float(until), holder.TITLE)
            bytes.fromhex(held.key)
        except (ValueError, TypeError):
            continue
        if held.until > time.time():
            return held
    return None


def drop(file: Path) -> bool:
    """Remove the key of a file wherever it is held. False if there was none."""
    return any([holder.drop(_name(file)) for holder in HOLDERS])


def _name(file: Path) -> str:
    return f"{NAME}{sha256(os.path.abspath(file).encode()).hexdigest()[:16]}"
