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
    """Return the folder for the state of hpc.onboard on this machine (XDG base directories)."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "hpc.onboard"


def make_private(folder: Path) -> None:
    """Create the missing folders down to this one with mode 0700, whatever the umask."""
    for one in [*reversed(folder.parents), folder]:
        if not one.exists():
            with suppress(FileExistsError):  # another run was faster
                one.mkdir(mode=0o700)


def local_key() -> str:
    """Return the key in hexadecimal, created once; if it cannot be kept, one for this run only."""
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
    """Return the key for one purpose and subject, such as an account: 32 bytes that say nothing of any other."""
    words = b"\0".join((b"hpc.onboard derived key", purpose.encode(), subject.encode()))
    return hmac.digest(key, words, "sha256")


def account_key(account: str) -> str:
    """Return the key, in hexadecimal, with which an account makes the fingerprints of its keys."""
    return derived(bytes.fromhex(local_key()), "fingerprints of an account", account).hex()


def shown_by(account: str, digest: bytes) -> str:
    """Return the fingerprint that an account shows of a value (Host.fingerprint there); digest: the value's SHA-256."""
    return f"key {hmac.digest(bytes.fromhex(account_key(account)), digest, 'sha256').hex()[:12]}"


def machine_id(key: bytes) -> str:
    """Return the id of the machine of this key in records and receipts: 16 hexadecimal digits."""
    return derived(key, "id of the machine").hex()[:16]


def _make(path: Path) -> None:
    """Create the key whole or not at all; of two runs at once, the key of the first one stays."""
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
