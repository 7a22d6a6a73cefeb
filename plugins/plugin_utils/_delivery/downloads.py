# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Large files that are fetched on this machine for accounts that have no way out; kept by their sum."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ansible_collections.hpc.onboard.plugins.module_utils._jobs.download import Said, fetch


def fetched(url: str, sha256: str, said: Said) -> Path:
    """The file with this sum, fetched once for all accounts; said is told the bytes. Raises AccountError."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpc.onboard"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / sha256
    with open(folder / f"{sha256}.lock", "w", encoding="ascii") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        fetch(url, str(path), sha256, {}, said)
    return path
