# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program of this machine at the person's terminal, started by a process of a run that has no terminal itself."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Sequence

from .._state.run_memory import BOARD

SIZE = struct.Struct("HHHH")


def name_of_terminal() -> str:
    """The terminal of this process, where it is in front of one; empty where it is not."""
    try:
        return os.ttyname(0) if os.getpgrp() == os.tcgetpgrp(0) else ""
    except OSError:
        return ""


def run(command: Sequence[str], terminal: str) -> int:
    """Run a program as if it were started there, and give its exit code; Ctrl-C there ends the program alone.

    It gets a terminal of its own, since it may open /dev/tty; what is typed and shown goes through. Raises OSError.
    """
    here = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    kept = [os.dup(number) for number in (0, 1)]
    is_sized = False

    def read(master: int) -> bytes:
        nonlocal is_sized
        if not is_sized:
            fcntl.ioctl(master, termios.TIOCSWINSZ, fcntl.ioctl(here, termios.TIOCGWINSZ, bytes(SIZE.size)))
            is_sized = True
        return os.read(master, 1024)

    try:
        with BOARD.hushed():
            for number in (0, 1):
                os.dup2(here, number)
            os.write(here, b"\r\n")  # the cursor stands behind the answer to a question
            return os.waitstatus_to_exitcode(pty.spawn(list(command), read))
    finally:
        for number, before in enumerate(kept):
            os.dup2(before, number)
            os.close(before)
        os.close(here)
