# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live line at the bottom of a terminal: it is overwritten in place, and erased before other output.

Everything is written under the lock of Ansible's output. The cursor is never hidden, and without colours no escape
sequence is used, so that a killed run leaves a usable terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .layout import Line, Terminal
from .progress_line import Moment, render_moment

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress

    Entries = Mapping[str, JobProgress]
BACKSPACE = "\b"
ECHO = 2  # cells that the terminal itself may add: ^C


def is_live(environment: Mapping[str, str], is_terminal: bool, verbosity: int) -> bool:
    """Return True if the terminal can show a live line, and the user has not given -v (verbosity 0).

    environment: of this process; CI is set in automated runs. is_terminal: the output goes to a terminal.
    """
    is_dumb = environment.get("TERM", "dumb") in ("dumb", "")
    return is_terminal and not is_dumb and not environment.get("CI") and verbosity == 0


def render_erasure(drawn: int, columns: int, escapes: bool) -> str:
    """Return the characters that erase the live line. drawn: its cells. columns: of the terminal.

    escapes: escape sequences may be used.
    """
    rows_above = (drawn - 1) // columns if drawn > columns else 0  # the terminal has become narrower
    if rows_above and escapes:
        return f"\r\033[{rows_above}A\033[J"  # cursor up, then erase to the end of the screen
    # without escape sequences, only the last row can be erased; a space in its last cell could begin a new row
    return f"\r{' ' * min(drawn + ECHO, columns - 1)}\r"


def render_replacement(text: str, cells: int, drawn: int) -> str:
    """Return the characters that replace the live line by a text, with the cursor at the end of the text.

    cells: of the text. drawn: of the old line.
    """
    spare = max(0, drawn - cells)
    return f"\r{text}{' ' * spare}{BACKSPACE * spare}"


class LiveLine:
    """The live line of a run. Other output must clear it first, under the same lock."""

    FIRST_DRAWN = 0.3  # seconds from the start; a shorter run needs no live line
    INTERVAL = 0.12  # seconds

    def __init__(self, columns: Callable[[], int], escapes: bool) -> None:
        """Begin without a line. columns: returns the width of the terminal. escapes: escape sequences may be used."""
        self._columns = columns
        self._escapes = escapes
        self._drawn = 0  # cells of the line on the terminal
        self._drawn_at = 0.0  # seconds of the run
        self._frame = 0  # number of the drawing

    def render(
        self,
        moment: tuple[list[str], int, int, float],
        entries: Callable[[], Entries],
        terminal: Callable[[], Terminal],
    ) -> Line | None:
        """Return the line for a moment of the run; None if it is too early to draw again.

        moment: the active accounts, the numbers of finished and of all accounts, and the seconds of the run. entries:
        returns the progress of long steps by account. terminal: returns the present terminal. Both functions are called
        only if a line is drawn.
        """
        elapsed = moment[-1]  # seconds of the run
        if elapsed < self.FIRST_DRAWN or elapsed - self._drawn_at < self.INTERVAL:
            return None
        self._drawn_at, self._frame = elapsed, self._frame + 1
        screen = terminal()
        return render_moment(Moment(*moment, self._frame), entries(), screen._replace(width=screen.width - ECHO))

    def draw(self, text: str, cells: int) -> None:
        """Replace the live line by this text. cells: its width. A background job does not draw."""
        if self._drawn > self._columns():  # the terminal has become narrower, so the old line fills several rows
            self.clear()
        if _is_foreground():
            _write(render_replacement(text, cells, self._drawn))
            self._drawn = cells

    def clear(self) -> None:
        """Erase the line, and move the cursor to its beginning."""
        if self._drawn:
            _write(render_erasure(self._drawn, self._columns(), self._escapes))
        self._drawn = 0


def _is_foreground() -> bool:
    """Return True if this process is in the foreground of its terminal, not a background job."""
    try:
        return os.tcgetpgrp(sys.stdout.fileno()) == os.getpgrp()
    except (OSError, ValueError):  # the output is not a terminal, so no other job can use it
        return True


def _write(text: str) -> None:
    """Write the text to the terminal at once, in the terminal's encoding."""
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), text.encode(sys.stdout.encoding or "utf-8", "replace"))
    except (OSError, ValueError):
        pass  # the terminal is closed


def call_before_output(display: Any, lock: Any, before: Callable[[], None]) -> None:
    """Replace display.display() by a method that calls a function before each output of this process.

    display, lock: of Ansible. before: the function. Ansible's workers, forks of this process, do not call it.
    """
    original, process = display.display, os.getpid()

    def display_after_call(*arguments: Any, **options: Any) -> Any:
        """Call the function and then Ansible's own display, both under the lock; in a fork only the display."""
        if os.getpid() != process:
            return original(*arguments, **options)
        with lock:
            before()
            return original(*arguments, **options)

    display.display = display_after_call
