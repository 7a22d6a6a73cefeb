# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore the terminal if a signal ends a run, also while the run asks a question, and leave no worker behind.

Ansible forwards SIGTERM to its workers, but leaves the terminal without echo. Ansible ignores SIGHUP. While Ansible
asks a question, a SIGINT from another process takes effect only after the answer, and Ctrl-C is an ordinary key.
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
    """Switches the echo of the terminal off while a run works, because the user may paste a key before the question.

    A question switches the echo on by itself. Only a foreground process changes the echo: the terminal would stop a
    background process that tries.
    """

    def __init__(self) -> None:
        """Begin with the echo as it is."""
        self._owner = 0  # the process that has switched the echo off; 0 for none

    def set_hidden(self, is_hidden: bool) -> None:
        """Switch the echo off (is_hidden), or on again."""
        if not is_hidden:
            self.show()
        elif not self._owner and self._set_echo(False):
            self._owner = os.getpid()
            atexit.register(self.show)

    def show(self) -> None:
        """Switch the echo on again. Do nothing in a forked process, which has not switched the echo off."""
        if self._owner == os.getpid():
            self._set_echo(True)
            self._owner = 0
            atexit.unregister(self.show)

    @staticmethod
    def _set_echo(is_shown: bool) -> bool:
        """Switch the echo of the terminal on (is_shown) or off, and return True.

        Return False if the echo is already as requested, or this process is not in the foreground of a terminal.
        """
        try:
            mode = termios.tcgetattr(0)  # of the standard input; mode[3] has the flag for the echo
            is_background = os.tcgetpgrp(0) != os.getpgrp()
            if is_background or bool(mode[3] & termios.ECHO) is is_shown:
                return False
            mode[3] ^= termios.ECHO
            termios.tcsetattr(0, termios.TCSANOW, mode)
        except (OSError, termios.error):
            return False
        return True


def restore_terminal_on_signals(is_asking: Callable[[], bool], show_typing: Callable[[], None]) -> None:
    """Install signal handlers that restore the present mode of the terminal before they end the run.

    is_asking: returns True while the run asks a question. show_typing: switches the echo on.
    """
    if not (sys.stdin and sys.stdin.isatty()):
        return  # the run has no terminal
    terminal, owner = sys.stdin.fileno(), os.getpid()
    mode = termios.tcgetattr(terminal)
    # the present handlers, of Ansible unless a signal is ignored
    interrupt, terminate, hang_up = map(signal.getsignal, ENDING)

    def end_run(number: int, frame: FrameType | None) -> None:
        """End the run as Ansible would after the signal of this number, with a usable terminal."""
        if os.getpid() != owner:  # a worker, which inherited this handler
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif number == signal.SIGINT and not is_asking() and callable(interrupt):
            interrupt(number, frame)  # during a question, this would take effect only after the answer
        elif callable(terminate):
            if is_asking():
                termios.tcsetattr(terminal, termios.TCSANOW, mode)
            show_typing()
            terminate(signal.SIGTERM, frame)  # for each of the three signals: Ansible's handler also ends the workers

    if callable(interrupt) and callable(terminate):
        for number in ENDING if hang_up is not signal.SIG_IGN else ENDING[:2]:  # nohup ignores SIGHUP
            signal.signal(number, end_run)
