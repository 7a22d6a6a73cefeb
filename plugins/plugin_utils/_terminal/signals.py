# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is ended by a signal while it asks something: the terminal is set back, and no worker waits on for ever.

Ansible hands SIGTERM on to its workers, and leaves the terminal without an echo; of SIGHUP it knows nothing; and a
SIGINT that was not typed waits for the answer. Ctrl-C is a key like others while it asks.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import termios
from collections.abc import Callable
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Typing:
    """Keeps the terminal from showing what is typed while a run works: a key may be pasted before it is asked for.

    A question shows what is typed to it by itself. Only a process that has the terminal changes it: another is stopped.
    """

    def __init__(self) -> None:
        self._owner = 0  # the process that hides it; 0: it is shown

    def set_hidden(self, is_hidden: bool) -> None:
        """Hide what is typed from here on, or show it again."""
        if not is_hidden:
            self.show()
        elif not self._owner and self._set_echo(False):
            self._owner = os.getpid()
            atexit.register(self.show)

    def show(self) -> None:
        """Show again what is typed. Does nothing in a forked process."""
        if self._owner == os.getpid():
            self._set_echo(True)
            self._owner = 0
            atexit.unregister(self.show)

    @staticmethod
    def _set_echo(is_shown: bool) -> bool:
        """Switch the echo of the terminal; return True if it was switched.

        Return False if the echo is already as requested, another process group has the terminal, or there is none.
        """
        try:
            mode = termios.tcgetattr(0)
            if os.tcgetpgrp(0) != os.getpgrp() or bool(mode[3] & termios.ECHO) is is_shown:
                return False
            mode[3] ^= termios.ECHO
            termios.tcsetattr(0, termios.TCSANOW, mode)
        except (OSError, termios.error):
            return False
        return True


def set_back_when_ended(asks: Callable[[], bool], show_typing: Callable[[], None]) -> None:
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
            show_typing()
            terminate(signal.SIGTERM, frame)

    if callable(interrupt) and callable(terminate):
        for number in ENDING if hang_up is not signal.SIG_IGN else ENDING[:2]:  # nohup lets one be ignored
            signal.signal(number, end)
