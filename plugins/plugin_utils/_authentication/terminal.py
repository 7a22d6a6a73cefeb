# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a program at the user's terminal, from a process of the run that has no terminal itself."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Sequence

from .._state.run_memory import BOARD

SIZE = struct.Struct("HHHH")  # of a terminal: rows, columns, width and height in pixels


def find_terminal() -> str:
    """Return the path of this process's terminal; empty without a terminal, or in the background."""
    try:
        return os.ttyname(0) if os.getpgrp() == os.tcgetpgrp(0) else ""
    except OSError:
        return ""


def run_at_terminal(command: Sequence[str], terminal: str) -> int:
    """Run a program as if the user had started it, and return its exit code. Ctrl-C ends only the program.

    The program gets its own terminal, since it may open /dev/tty; input and output are passed on. terminal: the path of
    the user's terminal. Raise OSError if that terminal cannot be opened.
    """
    user_terminal = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    saved_descriptors = [os.dup(number) for number in (0, 1)]  # standard input and output of this process
    is_sized = False

    def read_output(master: int) -> bytes:
        """Return the next output of the program. master: the open end of the program's terminal."""
        nonlocal is_sized
        if not is_sized:  # at the first call: pty.spawn opens the terminal of the program, and passes it only to here
            fcntl.ioctl(master, termios.TIOCSWINSZ, fcntl.ioctl(user_terminal, termios.TIOCGWINSZ, bytes(SIZE.size)))
            is_sized = True
        return os.read(master, 1024)

    try:
        with BOARD.hush():  # meanwhile, the run writes nothing to the terminal
            for number in (0, 1):
                os.dup2(user_terminal, number)
            os.write(user_terminal, b"\r\33[K")  # erase the answer to a question: the terminal shows Enter as ^M
            return os.waitstatus_to_exitcode(pty.spawn(list(command), read_output))
    finally:
        for number, descriptor in enumerate(saved_descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(user_terminal)
