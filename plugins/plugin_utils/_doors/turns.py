# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many commands of this machine a login host gets at once, whatever forks: sites ban those who come in crowds."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import make_private, state_folder

MOST = 4
GLANCE = 0.05  # seconds between two looks for a place


@contextmanager
def turn(host: str) -> Iterator[None]:
    """Wait for one of the places at a login host, which all runs of this machine share, and hold it meanwhile.

    A process that ends leaves its place. Where no place can be noted, nobody waits.
    """
    places = _places(host)
    try:
        while places and not any(map(_is_taken, places)):
            time.sleep(GLANCE)
        yield
    finally:
        for place in places:
            os.close(place)


def _places(host: str) -> list[int]:
    """The open files that stand for the places; none where they cannot be made."""
    folder = state_folder() / "turns"
    name = hashlib.sha256(host.encode()).hexdigest()[:12]
    made: list[int] = []
    try:
        make_private(folder)
        made.extend(_opened(folder / f"{name}.{number}") for number in range(MOST))
    except OSError:
        for one in made:
            os.close(one)
        return []
    return made


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _is_taken(place: int) -> bool:
    """Whether the place could be taken; it stays so until its file is closed."""
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
