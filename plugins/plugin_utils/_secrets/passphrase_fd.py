# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file descriptor that gives a passphrase, kept from before the forks: a worker's own 0 to 2 lead nowhere."""

from __future__ import annotations

import os

FD = "HPC_ONBOARD_PASSPHRASE_FD"
LARGEST = 64 * 1024

_kept: list[int] = []
_read: list[bytes] = []


def keep() -> None:
    """Keep what is open there now, if the user has named a descriptor."""
    if os.environ.get(FD, "").isdecimal() and not _kept:
        try:
            _kept.append(os.dup(int(os.environ[FD])))
        except OSError:  # nothing is open there; content says so to who needs it
            return


def content() -> bytes | None:
    """What can be read there, once in this process, since a pipe gives it once; None where nothing is open."""
    keep()
    if not _read and _kept:
        with os.fdopen(_kept[0], "rb", closefd=False) as stream:
            _read.append(stream.read(LARGEST))
    return _read[0] if _read else None
