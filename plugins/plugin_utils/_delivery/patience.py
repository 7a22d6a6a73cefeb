# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long an account is waited for that says nothing."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer


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
