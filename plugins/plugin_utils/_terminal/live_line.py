# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A live line at the bottom of a terminal, and the thread that keeps it: drawn over, never scrolled, gone in time.

Everything is written under one lock, Ansible's own for its output. The cursor is never hidden and, without
colours, no escape sequence is used, so there is nothing to be put back when a run is killed.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

TICK = 0.05
ECHO = 2  # cells that the terminal itself may add: ^C


def is_live(environment: Mapping[str, str], is_terminal: bool, verbosity: int) -> bool:
    """Whether a line may be drawn over again and again."""
    dumb = environment.get("TERM", "dumb") in ("dumb", "")
    return is_terminal and not dumb and not environment.get("CI") and verbosity == 0


def erasure(drawn: int, columns: int, escapes: bool) -> str:
    """What wipes a line of so many cells, also after the terminal became narrower and broke it into rows."""
    above = (drawn - 1) // columns if drawn > columns else 0
    if above and escapes:
        return f"\r\033[{above}A\033[J"
    return f"\r{' ' * min(drawn + ECHO, columns - 1)}\r"


def redrawn(text: str, cells: int, drawn: int) -> str:
    """What replaces a line of so many drawn cells by a text, with the cursor at its end."""
    spare = max(0, drawn - cells)
    return f"\r{text}{' ' * spare}{chr(8) * spare}"


class LiveLine:
    """The line itself. Whoever writes elsewhere on the terminal clears it first, under the same lock."""

    def __init__(self, columns: Callable[[], int], escapes: bool) -> None:
        self._columns = columns
        self._escapes = escapes
        self._drawn = 0

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
    """Whether this program has the terminal now, and does not run behind another one (bg)."""
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


class Watch:
    """A thread that calls a function every moment until it is stopped, at the end of the program at the latest."""

    def __init__(self, tick: Callable[[], None], last: Callable[[], None]) -> None:
        self._tick, self._last = tick, last
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def start(self) -> None:
        """Begin, unless it has begun."""
        if self._thread is None:
            self._end.clear()
            self._thread = threading.Thread(target=self._run, name="console", daemon=True)
            self._thread.start()
            atexit.register(self.stop)
            self.stop_when_terminated()

    def stop_when_terminated(self) -> None:
        """Have this ended before the program is (kill). Ansible's own handler does the rest."""
        known = signal.getsignal(signal.SIGTERM)

        def terminated(number: int, frame: Any) -> None:
            self.stop()
            signal.signal(number, known)
            if callable(known):
                known(number, frame)
            else:
                os.kill(os.getpid(), number)

        if threading.current_thread() is threading.main_thread() and known is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, terminated)

    def stop(self) -> None:
        """End, and do what is to be done last. A forked process has no such thread."""
        if self._thread is None or os.getpid() != self._process:
            return
        self._end.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(2)
        self._thread = None
        atexit.unregister(self.stop)
        self._last()

    def _run(self) -> None:
        while not self._end.wait(TICK):
            try:
                self._tick()
            except Exception:  # what is only for the eye must not cost a run
                self._last()
                return


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
