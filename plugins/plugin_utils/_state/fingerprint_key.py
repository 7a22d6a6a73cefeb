# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The secret key of this machine, which never leaves it, and keys for single purposes that are derived from it.

A fingerprint is a short keyed hash that identifies a user's key, such as a registry key, without showing it. The
machine's own key signs the records on this machine and makes the fingerprints in them. An account gets a key that is
derived for its name: whatever leaks there is useless for other accounts, and cannot sign records.
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
    for path in [*reversed(folder.parents), folder]:
        if not path.exists():
            with suppress(FileExistsError):  # another run was faster
                path.mkdir(mode=0o700)


def local_key() -> str:
    """Return the key of this machine in hexadecimal; created at the first call.

    If the key cannot be stored or read, return a random key, which is different at each call.
    """
    path = state_folder() / "fingerprint.key"
    try:
        if not path.exists():
            _create_key(path)
        key = path.read_text(encoding="ascii").strip()
        if len(bytes.fromhex(key)) == BYTES:  # otherwise the file is damaged
            return key
    except (OSError, ValueError):
        pass  # nothing is reported here; record_key() in the package _rotation reports a key that cannot be stored
    return secrets.token_hex(BYTES)


def explain_no_key() -> str:
    """Return why local_key() cannot store or read the key of this machine, and what to do."""
    folder = state_folder()
    if not os.path.lexists(folder / "fingerprint.key"):
        return (
            f"hpc-onboard must keep its records in {folder}, but cannot write a file there. Make the folder writable, "
            "or free space on its disk, then try again"
        )
    return (
        f"{folder / 'fingerprint.key'}, the key that signs the records of rotations, is damaged or cannot be read. "
        "Restore the file from a backup: without it, hpc-onboard cannot read ledger.jsonl and the folder secrets. "
        "If you have no backup, rename the file, ledger.jsonl, ledger.head and the folder secrets to start again"
    )


def derive_key(key: bytes, purpose: str, subject: str = "") -> bytes:
    """Return the 32 bytes of the key for one purpose and subject, such as an account. They reveal no other key."""
    label = b"\0".join((b"hpc.onboard derived key", purpose.encode(), subject.encode()))
    return hmac.digest(key, label, "sha256")


def account_key(account: str) -> str:
    """Return the key, in hexadecimal, with which an account makes the fingerprints of its keys."""
    return derive_key(bytes.fromhex(local_key()), "fingerprints of an account", account).hex()


def account_fingerprint(account: str, digest: bytes) -> str:
    """Return the fingerprint, "key " and 12 hexadecimal digits, that an account reports for a key.

    digest: the SHA-256 of the key. The account's code for this is Host.fingerprint.
    """
    return f"key {hmac.digest(bytes.fromhex(account_key(account)), digest, 'sha256').hex()[:12]}"


def machine_id(key: bytes) -> str:
    """Return the id, in records and receipts, of the machine with this key: 16 hexadecimal digits."""
    return derive_key(key, "id of the machine").hex()[:16]


def _create_key(path: Path) -> None:
    """Create the key file completely or not at all. If two runs create it at once, the first file stays."""
    from ...module_utils._core import files  # imported late: needed once per machine

    make_private(path.parent)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    draft = (
        f".{path.name}.{secrets.token_hex(8)}"  # random: a killed run with the same process id may have left a draft
    )
    try:
        content = f"{secrets.token_hex(BYTES)}\n".encode()
        files.write_draft(folder, draft, content, mode=0o600, attributes={})
        os.link(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)  # unlike rename, never replaces a file
        files.flush(folder)  # a key lost in a crash would invalidate all records
    except FileExistsError:
        pass  # the other run's key is used
    finally:
        files.discard_draft(folder, draft)
        os.close(folder)
