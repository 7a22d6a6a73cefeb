# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long an account is waited for that says nothing, how much of what it says is held, and how often one is tried.

The engine bounds its own work and its answer, but what goes before it does not: a start-up file that waits or prints
without end, a home that hangs. Ansible reads all that a command prints, and ends when that does.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import LARGEST, NoAnswer

if TYPE_CHECKING:
    from types import FrameType

ROOM = 16 * LARGEST
"""Bytes by which this process may grow meanwhile: an answer is read, decoded and parsed, and noise may stand before."""
OFTEN = 0.1  # seconds between two looks at it
AGAIN = "Log in as you do by hand, and look; then run again: it reads back what was done"
SILENT = "no answer in {minutes:.0f} minutes: does a start-up file wait for something, or the home hang? " + AGAIN
FLOODED = (
    f"more than {LARGEST // 2**20} MB were printed instead of an answer, and it was cut: does a start-up file print"
    f" without end? {AGAIN}"
)

Answer = TypeVar("Answer")

PAUSES = (2.0, 6.0)
"""Seconds before a connection is tried again that was dropped at the door; half as much, or half more, by chance."""


def tried(send: Callable[[], Answer], pauses: Iterable[float], was_dropped: Callable[[Exception], bool]) -> Answer:
    """What comes of sending a command, which is sent again after each pause where the connection was dropped.

    Login nodes drop connections when many come at once (MaxStartups); a refusal stays one. Chance keeps accounts of
    one run from coming back all at once.
    """
    for pause in pauses:
        try:
            return send()
        except Exception as error:  # Ansible's, which this room does not know
            if not was_dropped(error):
                raise
        time.sleep(pause * random.uniform(0.5, 1.5))
    return send()


@contextmanager
def awaited(seconds: float) -> Iterator[None]:
    """Raise NoAnswer when what is done within takes longer, or more memory. Ansible's own alarm goes on meanwhile.

    Ansible's limit for the task must leave room for an installation of an hour.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are not ours there
        yield
        return
    began, largest = time.monotonic(), most_memory() + ROOM
    left = signal.getitimer(signal.ITIMER_REAL)[0]

    def look(number: int, frame: FrameType | None) -> None:
        nonlocal left
        waited = time.monotonic() - began
        if waited >= seconds:
            raise NoAnswer(SILENT.format(minutes=seconds / 60))
        if most_memory() > largest:
            raise NoAnswer(FLOODED)
        if left and waited >= left and callable(theirs):  # the task's own limit, which is over once it has rung
            left = 0.0
            theirs(number, frame)

    theirs = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, OFTEN, OFTEN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(0.1, left - (time.monotonic() - began)) if left else 0)
        signal.signal(signal.SIGALRM, theirs)


def most_memory() -> int:
    """The most bytes of memory that this process has had at once."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else found * 1024
