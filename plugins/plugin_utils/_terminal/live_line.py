# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A live line at the bottom of a terminal: drawn over, never scrolled, gone in time.

Everything is written under one lock, Ansible's own for its output. The cursor is never hidden and, without
colours, no escape sequence is used, so there is nothing to be put back when a run is killed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .layout import Line, Terminal
from .progress_line import Moment, live

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress

    Entries = Mapping[str, JobProgress]
ECHO = 2  # cells that the terminal itself may add: ^C


def is_live(environment: Mapping[str, str], is_terminal: bool, verbosity: int) -> bool:
    """Return True if a line may be drawn over again and again."""
    dumb = environment.get("TERM", "dumb") in ("dumb", "")
    return is_terminal and not dumb and not environment.get("CI") and verbosity == 0


def erasure(drawn: int, columns: int, escapes: bool) -> str:
    """Return what wipes a line of so many cells, also after the terminal became narrower and broke it into rows."""
    above = (drawn - 1) // columns if drawn > columns else 0
    if above and escapes:
        return f"\r\033[{above}A\033[J"
    return f"\r{' ' * min(drawn + ECHO, columns - 1)}\r"


def redrawn(text: str, cells: int, drawn: int) -> str:
    """Return what replaces a line of so many drawn cells by a text, with the cursor at its end."""
    spare = max(0, drawn - cells)
    return f"\r{text}{' ' * spare}{chr(8) * spare}"


class LiveLine:
    """The line itself. Whoever writes elsewhere on the terminal clears it first, under the same lock."""

    FIRST_DRAWN = 0.3  # seconds; a shorter run needs none
    REDRAWN = 0.12

    def __init__(self, columns: Callable[[], int], escapes: bool) -> None:
        self._columns = columns
        self._escapes = escapes
        self._drawn = 0
        self._drawn_at = 0.0  # seconds of the run
        self._frame = 0

    def at(
        self,
        moment: tuple[list[str], int, int, float],
        entries: Callable[[], Entries],
        terminal: Callable[[], Terminal],
    ) -> Line | None:
        """What it says at a moment of a run, given by its fields without the frame; None where it is not drawn anew."""
        elapsed = moment[-1]
        if elapsed < self.FIRST_DRAWN or elapsed - self._drawn_at < self.REDRAWN:
            return None
        self._drawn_at, self._frame = elapsed, self._frame + 1
        room = terminal()
        return live(Moment(*moment, self._frame), entries(), room._replace(width=room.width - ECHO))

    def draw(self, text: str, cells: int) -> None:
        """Show the text in place of what was there."""
        if self._drawn > self._columns():
            self.clear()
        if _in_front():
            _write(redrawn(text, cells, self._drawn))
            self._drawn = cells

    def clear(self) -> None:
        """Leave an empty line, with the cursor at its beginning."""
        if self._drawn:
            _write(erasure(self._drawn, self._columns(), self._escapes))
        self._drawn = 0


def _in_front() -> bool:
    """Return True if this program has the terminal now, and does not run behind another one (bg)."""
    try:
        return os.tcgetpgrp(sys.stdout.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return True


def _write(text: str) -> None:
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), text.encode(sys.stdout.encoding or "utf-8", "replace"))
    except (OSError, ValueError):
        pass  # the terminal is gone, and nobody sees it


def guard(display: Any, lock: Any, before: Callable[[], None]) -> None:
    """Have something done before each output of Ansible's display, in this process alone."""
    original, process = display.display, os.getpid()

    def shown(*arguments: Any, **options: Any) -> Any:
        if os.getpid() != process:
            return original(*arguments, **options)
        with lock:
            before()
            return original(*arguments, **options)

    display.display = shown
