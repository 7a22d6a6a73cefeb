# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory that all processes of a run share, the progress of accounts in it, and the clock of the run.

Ansible runs the task of each account in a worker, a process forked from the main process. The processes exchange data
through anonymous memory, which has no name, is excluded from core dumps and swap, and ends with the run. A Shared must
be created before the forks, at import.

Workers write the progress of their accounts to the Board. A thread of the main process, the Ticker, displays it: at a
terminal in the live line, a last line that is redrawn.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import json
import mmap
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
HUSH = ""  # the key of the Board's entry about open questions; no account has this name
SETTLED = 0.15  # seconds until all processes have noticed a question
TICK = 0.05  # seconds between two looks at the shared memory
PATIENCE = 300.0  # seconds in a run that output waits for answers


def _find_unseen_terminal() -> str:
    """Return the path of the user's terminal if only standard output is redirected; else an empty text."""
    try:
        return "" if os.isatty(1) or not os.isatty(0) else os.ttyname(0)
    except OSError:  # the terminal has no path here, as in some containers
        return ""


UNSEEN_TERMINAL = _find_unseen_terminal()  # at import, because workers have no standard input


def end_with_parent() -> None:
    """Make this worker end when the main process ends: no process would answer its questions or release its locks.

    A worker has its own session, so signals to the run's process group do not reach the worker. Only Linux supports
    this; on other systems, the message about a held lock says that the run of its process has ended.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return  # this is the main process
    with suppress(AttributeError, OSError):  # a system without prctl
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent.pid:  # the main process has ended already, so no signal will come
        os.kill(os.getpid(), signal.SIGTERM)


class Shared:
    """A mapping of names to JSON values that processes share."""

    def __init__(self, size: int) -> None:
        """size: the limit of the mapping's JSON text, in bytes."""
        self._memory = mmap.mmap(-1, size)
        if hasattr(mmap, "MADV_DONTDUMP"):
            self._memory.madvise(mmap.MADV_DONTDUMP)
        _keep_from_swap(self._memory)
        self._lock, path = tempfile.mkstemp()  # a descriptor, not a file object, which would warn if not closed
        os.unlink(path)

    @contextmanager
    def lock(self) -> Iterator[dict[str, Any]]:
        """Lock the mapping and yield it. Changes are stored afterwards; if they exceed the size, they are dropped."""
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            values = self.peek()
            yield values
            text = json.dumps(values).encode()
            if len(text) <= len(self._memory):
                self._memory[:] = text.ljust(len(self._memory), b"\0")
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def peek(self) -> dict[str, Any]:
        """Return the mapping without waiting for the lock; {} if another process is changing it."""
        try:
            values: dict[str, Any] = json.loads(self._memory[:].rstrip(b"\0") or b"{}")
        except ValueError:
            return {}
        return values


def _keep_from_swap(memory: mmap.mmap) -> None:
    """Lock the pages in memory if the user's limit allows that. All processes share these pages."""
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    with suppress(AttributeError, OSError):  # a system without mlock
        ctypes.CDLL(None).mlock(ctypes.c_void_p(start), ctypes.c_size_t(len(memory)))


class Board:
    """The progress of each account, shared by the processes of a run, and whether a question is open."""

    def __init__(self) -> None:
        self._shared = Shared(size=64 * 1024)
        self._patience = PATIENCE  # seconds left

    def put(self, account: str, progress: JobProgress | None) -> None:
        """Set the progress of an account; None: its work has ended."""
        with self._shared.lock() as entries:
            if progress is None:
                entries.pop(account, None)
            else:
                entries[account] = dict(progress)

    def entries(self) -> dict[str, JobProgress]:
        """Return the progress of each account, without the entry about questions."""
        return {name: entry for name, entry in self._shared.peek().items() if name != HUSH}

    def find_new_steps(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return the current step of each account whose step has changed, for output without a live line.

        before: the steps that were displayed last, by account.
        """
        steps = {name: progress["step"] for name, progress in self.entries().items()}
        return {name: step for name, step in steps.items() if before.get(name) != step}

    @contextmanager
    def hush(self) -> Iterator[None]:
        """Keep all processes from writing to the terminal while the block asks the user a question."""
        self._count_question(1)
        time.sleep(SETTLED)
        try:
            yield
        finally:
            self._count_question(-1)

    def _count_question(self, change: int) -> None:
        """Add `change` to the number of open questions. If a question was open, count the time since the last change.

        In the entry, "since" is the time of the last change, and "waited" are the counted seconds, which
        the run does not count as its own time.
        """
        with self._shared.lock() as entries:
            questions = entries.get(HUSH, {"count": 0, "since": 0.0, "waited": 0.0})
            now = time.monotonic()  # the same clock in all processes
            waited = questions["waited"] + (now - questions["since"] if questions["count"] else 0.0)
            entries[HUSH] = {"count": questions["count"] + change, "since": now, "waited": waited}

    def seconds_waited(self) -> float:
        """Return for how many seconds the run has waited for answers of the user, up to the last answer."""
        return float(self._shared.peek().get(HUSH, {}).get("waited", 0.0))

    def wait_for_answers(self) -> None:
        """Wait while a question to the user is open. All waits of a process take at most PATIENCE seconds together."""
        while self._patience > 0 and self.is_hushed():
            self._patience -= TICK
            time.sleep(TICK)

    def is_hushed(self) -> bool:
        """Return True while a question to the user is open."""
        return bool(self._shared.peek().get(HUSH, {}).get("count"))


class Clock:
    """The accounts that are being worked on, and the time of the run without waiting for the user.

    under_way: names of accounts, in the order of their start. total: number of accounts in the play.
    """

    def __init__(self, seconds_waited: Callable[[], float]) -> None:
        """seconds_waited: returns how many seconds the run has waited for the user."""
        self._seconds_waited, self._begun = seconds_waited, time.monotonic()
        self._started: dict[str, float] = {}  # account -> elapsed() at the start of its task
        self.under_way: dict[str, None] = {}  # an ordered set of accounts
        self._done = self.total = 0

    def elapsed(self) -> float:
        """Return the seconds that the run has worked so far, without waiting for the user."""
        return time.monotonic() - self._begun - self._seconds_waited()

    def begin_task(self) -> None:
        """Start the next task: no account has begun or finished it."""
        self.under_way, self._done = {}, 0

    def begin(self, name: str, is_shown: bool) -> None:
        """Start the task of an account. is_shown: True if the live line names the account."""
        self._started[name] = self.elapsed()
        if is_shown:
            self.under_way[name] = None

    def end(self, name: str) -> float | None:
        """End the task of an account, and return how many seconds the task took; None if it was not started."""
        if name in self.under_way:  # not if the live line does not name the account
            del self.under_way[name]
            self._done += 1
        start = self._started.get(name)
        return None if start is None else max(0.0, self.elapsed() - start)

    def read_moment(self) -> tuple[list[str], int, int, float]:
        """Return the accounts under way, the numbers of accounts done and in total, and the elapsed seconds."""
        return list(self.under_way), self._done, self.total, self.elapsed()


class Ticker:
    """A thread that calls `tick` 20 times a second, and `last` when it is stopped or the program ends.

    tick: displays the progress. last: removes the live line, so that it does not stay on the terminal.
    """

    def __init__(self, tick: Callable[[], None], last: Callable[[], None]) -> None:
        self._tick, self._last = tick, last
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def start(self) -> None:
        """Start the thread unless it is running."""
        if self._thread is None:
            self._end.clear()
            self._thread = threading.Thread(target=self._run, name="console", daemon=True)
            self._thread.start()
            atexit.register(self.stop)
            self.stop_when_terminated()

    def stop_when_terminated(self) -> None:
        """Stop the thread on SIGTERM, then let Ansible's own handler end the program."""
        former = signal.getsignal(signal.SIGTERM)

        def handle_signal(number: int, frame: Any) -> None:
            """Stop the thread, and do what the former handler does."""
            self.stop()
            signal.signal(number, former)  # for the next signal
            if callable(former):
                former(number, frame)
            else:
                os.kill(os.getpid(), number)

        # only the main thread may set a handler; a program that ignores SIGTERM continues to ignore it
        if threading.current_thread() is threading.main_thread() and former is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, handle_signal)

    def stop(self) -> None:
        """Stop the thread and call `last`. Do nothing in a forked process, which has no such thread."""
        if self._thread is None or os.getpid() != self._process:
            return
        self._end.set()
        if threading.current_thread() is not self._thread:  # a thread cannot join itself
            self._thread.join(timeout=2)
        self._thread = None
        atexit.unregister(self.stop)
        self._last()

    def _run(self) -> None:
        """Call `tick` until the thread is stopped. This is the body of the thread."""
        while not self._end.wait(TICK):
            try:
                self._tick()
            except Exception:  # an error in drawing must not stop a run, but ends the display
                self._last()
                return


BOARD = Board()
