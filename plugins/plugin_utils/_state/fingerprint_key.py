# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key of this machine, which never leaves it, and the keys for single purposes that are derived from it.

The machine's own key signs the records here and makes the fingerprints in them. An account gets a key that is made
for its name alone: what it could learn or leak says nothing of another account, and signs nothing here.
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

BYTES = 32


def state_folder() -> Path:
    """Where hpc.onboard keeps what it must remember on this machine (XDG base directories)."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "hpc.onboard"


def make_private(folder: Path) -> None:
    """Make the missing folders down to this one, for the user alone: a umask would leave those above it to others."""
    for one in [*reversed(folder.parents), folder]:
        if not one.exists():
            with suppress(FileExistsError):  # another run was faster
                one.mkdir(mode=0o700)


def local_key() -> str:
    """The key in hexadecimal; made once. Where it cannot be kept, one for this run alone."""
    path = state_folder() / "fingerprint.key"
    try:
        if not path.exists():
            _make(path)
        key = path.read_text(encoding="ascii").strip()
        if len(bytes.fromhex(key)) == BYTES:
            return key
    except (OSError, ValueError):
        pass
    return secrets.token_hex(BYTES)


def derived(key: bytes, purpose: str, subject: str = "") -> bytes:
    """The key for one purpose, of one subject (an account, say): 32 bytes that tell nothing of any other."""
    words = b"\0".join((b"hpc.onboard derived key", purpose.encode(), subject.encode()))
    return hmac.digest(key, words, "sha256")


def account_key(account: str) -> str:
    """The key, in hexadecimal, that an account makes the fingerprints of its keys with."""
    return derived(bytes.fromhex(local_key()), "fingerprints of an account", account).hex()


def shown_by(account: str, digest: bytes) -> str:
    """The fingerprint that an account shows of a value (Host.fingerprint there); digest: the value's SHA-256."""
    return f"key {hmac.digest(bytes.fromhex(account_key(account)), digest, 'sha256').hex()[:12]}"


def machine_id(key: bytes) -> str:
    """What tells the machine of this key from others in records and receipts: 16 hexadecimal digits."""
    return derived(key, "id of the machine").hex()[:16]


def _make(path: Path) -> None:
    """Put a whole key in place or none: of two runs that make it at once, the first one's stays."""
    from ...module_utils._core import files  # here, because it is made once

    make_private(path.parent)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    draft = f".{path.name}.{secrets.token_hex(8)}"  # a killed run of the same number left its own
    try:
        files.write_draft(folder, draft, f"{secrets.token_hex(BYTES)}\n".encode(), 0o600, {})
        os.link(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        files.flush(folder)  # all records are signed with it
    except FileExistsError:
        pass
    finally:
        files.discard_draft(folder, draft)
        os.close(folder)
