# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file descriptor that gives a passphrase, kept from before the forks: a worker's own 0 to 2 lead nowhere."""

from __future__ import annotations

import os

FD = "HPC_ONBOARD_PASSPHRASE_FD"
LARGEST = 64 * 1024


def _duplicate() -> int | None:
    try:
        return os.dup(int(os.environ[FD]))
    except (KeyError, ValueError, OSError):
        return None


_DESCRIPTOR = _duplicate()
_read: list[bytes] = []


def content() -> bytes | None:
    """What can be read there, once in this process, since a pipe gives it once; None where nothing is open."""
    if _DESCRIPTOR is None:
        return None
    if not _read:
        with os.fdopen(_DESCRIPTOR, "rb", closefd=False) as stream:
            _read.append(stream.read(LARGEST))
    return _read[0]
