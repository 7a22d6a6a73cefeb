# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long an account is waited for that says nothing, and how often one is tried that drops connections."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer

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
    """Raise NoAnswer when what is done within takes longer. Ansible's own alarm goes on afterwards.

    The engine bounds its own work, but what goes before it does not: a start-up file that waits, a home that hangs.
    Ansible's limit for the task must leave room for an installation of an hour.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are not ours there
        yield
        return

    def give_up(_signal: int, _frame: object) -> None:
        raise NoAnswer(
            f"no answer in {seconds / 60:.0f} minutes: does a start-up file wait for something, or the home hang?"
            f" Log in as you do by hand, and look; then run again: it reads back what was done"
        )

    began, left = time.monotonic(), signal.getitimer(signal.ITIMER_REAL)[0]
    if 0 < left < seconds:  # the task's own limit comes first
        yield
        return
    theirs = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(0.1, left - (time.monotonic() - began)) if left else 0)
        signal.signal(signal.SIGALRM, theirs)
