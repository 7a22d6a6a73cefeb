# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is ended by a signal while it asks something: the terminal is set back, and no worker waits on for ever.

Ansible hands SIGTERM on to its workers, and leaves the terminal without an echo; of SIGHUP it knows nothing; and a
SIGINT that was not typed waits for the answer. Ctrl-C is a key like others while it asks.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
from collections.abc import Callable
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def set_back_when_ended(asks: Callable[[], bool]) -> None:
    """From here on, let a signal that ends this process find the terminal as it is now. asks: whether it asks."""
    if not (sys.stdin and sys.stdin.isatty()):
        return
    terminal, owner = sys.stdin.fileno(), os.getpid()
    kept = termios.tcgetattr(terminal)
    interrupt, terminate, hang_up = map(signal.getsignal, ENDING)

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:  # a worker, which has this from its parent
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif number == signal.SIGINT and not asks() and callable(interrupt):
            interrupt(number, frame)
        elif callable(terminate):
            if asks():
                termios.tcsetattr(terminal, termios.TCSANOW, kept)
            terminate(signal.SIGTERM, frame)

    if callable(interrupt) and callable(terminate):
        for number in ENDING if hang_up is not signal.SIG_IGN else ENDING[:2]:  # nohup lets one be ignored
            signal.signal(number, end)
