# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many commands of this machine a login host gets at once, whatever forks: sites ban those who come in crowds."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .._state.fingerprint_key import make_private, state_folder

MOST = 4
PATIENCE = 660.0  # seconds; no command is waited for as long, so whoever holds the places then was stopped
GLANCE, NAP = 0.005, 0.02  # seconds between two looks: of the first in the line for a place, of the others for its end


@contextmanager
def turn(host: str) -> Iterator[None]:
    """Wait for one of the places at a login host, which all runs of this machine share, and hold it meanwhile.

    A process that ends leaves its place. Where no place can be noted, nobody waits.
    """
    files = _files(host)
    try:
        if files:
            with suppress(OSError):  # a file system without locks
                _wait(files[0], files[1:])
        yield
    finally:
        for one in files:
            os.close(one)


def _files(host: str) -> list[int]:
    """The open files that stand for the line before a login host and for the places; none where they cannot be made."""
    folder = state_folder() / "turns"
    name = hashlib.sha256(host.encode()).hexdigest()[:12]
    made: list[int] = []
    try:
        make_private(folder)
        made.extend(_opened(folder / f"{name}.{number}") for number in ("line", *range(MOST)))
    except OSError:
        for one in made:
            os.close(one)
        return []
    return made


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _wait(line: int, places: Sequence[int]) -> None:
    """Take a place as soon as there is one, the first in the line before the others; after PATIENCE go without."""
    deadline = time.monotonic() + PATIENCE
    _take([line], NAP, deadline)
    _take(places, GLANCE, deadline)
    fcntl.flock(line, fcntl.LOCK_UN)


def _take(files: Sequence[int], pause: float, deadline: float) -> None:
    while not any(map(_is_taken, files)) and time.monotonic() < deadline:
        time.sleep(pause)


def _is_taken(file: int) -> bool:
    """Whether the place could be taken; it stays so until its file is closed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
