# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Large files that are fetched on this machine for accounts that have no way out; kept by their sum."""

from __future__ import annotations

import os
from pathlib import Path

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.lock_file import Busy, LockFile
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.download import Said, fetch
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import make_private

WAIT_SECONDS = 3600.0  # an account waits for what another one fetches


def fetched(url: str, sha256: str, said: Said) -> Path:
    """The file with this sum, fetched once for all accounts; said is told the bytes. Raises AccountError."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpc.onboard"
    make_private(folder)
    lock = LockFile(str(folder), f"{sha256}.lock")
    try:
        lock.hold(WAIT_SECONDS)
    except Busy as error:
        raise AccountError(
            f"another process fetches {url} and does not end ({error}): end it, then run again"
        ) from None
    try:
        fetch(url, str(folder / sha256), sha256, {}, said)
    finally:
        lock.let_go()
    return folder / sha256
