# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The local key that fingerprints are made with, so that two runs show the same one and nobody else can."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

BYTES = 32


def state_folder() -> Path:
    """Where hpc.onboard keeps what it must remember on this machine (XDG base directories)."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "hpc.onboard"


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


def _make(path: Path) -> None:
    """Put a whole key in place or none: of two runs that make it at once, the first one's stays."""
    from ansible_collections.hpc.onboard.plugins.module_utils._core import files  # here, because it is made once

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    draft = f".{path.name}.{secrets.token_hex(8)}"  # a killed run of the same number left its own
    try:
        files.write_draft(folder, draft, f"{secrets.token_hex(BYTES)}\n".encode(), 0o600, {})
        os.link(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        files.flush(folder)  # all records are signed with it
    except FileExistsError:
        pass
    finally:
        files.forget(folder, draft)
        os.close(folder)
