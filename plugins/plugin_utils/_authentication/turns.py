# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits how many SSH sessions this machine opens to a login node at once: sites ban users who open many.

The limit holds for all runs of this machine together. A session needs one of a few places. A place is a file lock, so
that it becomes free when its process ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .._state.fingerprint_key import make_private, state_folder

MOST = 4  # places at a login node
PATIENCE = 660.0  # seconds; longer than any session, so a process that still holds a place then was suspended
FAST, SLOW = 0.005, 0.02  # seconds between two attempts: of the first process in the queue, and of the others


@contextmanager
def hold_place(host: str) -> Iterator[None]:
    """Wait for a place at the login node `host`, and hold it during the block. Without lock files, do not wait."""
    files = _open_files(host)
    try:
        if files:
            with suppress(OSError):  # a file system without locks
                _take_place(queue=files[0], places=files[1:])
        yield
    finally:
        for file in files:
            os.close(file)


def _open_files(host: str) -> list[int]:
    """Return the open lock files of a login node, of its queue first; [] if they cannot be created."""
    folder = state_folder() / "turns"
    name = hashlib.sha256(host.encode()).hexdigest()[:12]
    lock_files: list[int] = []
    try:
        make_private(folder)
        suffixes = ("line", *range(MOST))  # of the queue, and of the places
        lock_files.extend(_open_lock_file(folder / f"{name}.{suffix}") for suffix in suffixes)
    except OSError:
        for file in lock_files:
            os.close(file)
        return []
    return lock_files


def _open_lock_file(path: Path) -> int:
    """Return a lock file, opened, and created if missing. O_NOFOLLOW: a link is refused."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _take_place(queue: int, places: Sequence[int]) -> None:
    """Lock the first free place. Only the process that has locked the queue tries. After PATIENCE, do not wait."""
    deadline = time.monotonic() + PATIENCE
    _lock_any([queue], SLOW, deadline)
    _lock_any(places, FAST, deadline)
    fcntl.flock(queue, fcntl.LOCK_UN)


def _lock_any(files: Sequence[int], pause: float, deadline: float) -> None:
    """Try until one of the files is locked, or the deadline has passed. pause: seconds between attempts."""
    while not any(map(_try_lock, files)) and time.monotonic() < deadline:
        time.sleep(pause)


def _try_lock(file: int) -> bool:
    """Lock a file until it is closed. Return False if another process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
