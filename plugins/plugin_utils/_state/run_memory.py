# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small mapping that all processes of a run share, and the progress of accounts in one.

Ansible runs every account in a forked process. What one of them learns reaches the others, and the
main process, through anonymous memory: it has no name, is kept out of core dumps and of swap, and is gone with the
run. A Shared must be made before the forks, at import.

The board holds the progress of each account: workers write it, and a thread of the main process shows it. The clock
measures how long the run worked.
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
HUSH = ""  # no account has this name
SETTLED = 0.15  # seconds until every process has noticed it
TICK = 0.05
PATIENCE = 300.0  # seconds in a run that output waits for questions


def end_with_parent() -> None:
    """Let this worker end when the main process does, which answers its questions and frees its locks.

    A worker has a session of its own, so no signal to the run's group reaches it. Systems other than Linux cannot do
    this; there the message about a held lock says whose run has ended.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    with suppress(AttributeError, OSError):  # no prctl
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent.pid:  # it has ended already, and no signal comes
        os.kill(os.getpid(), signal.SIGTERM)


class Shared:
    """A mapping of names to JSON values, of at most size bytes as text."""

    def __init__(self, size: int) -> None:
        self._memory = mmap.mmap(-1, size)
        if hasattr(mmap, "MADV_DONTDUMP"):
            self._memory.madvise(mmap.MADV_DONTDUMP)
        _keep_from_swap(self._memory)
        self._lock, path = tempfile.mkstemp()  # a bare number: a module loaded anew leaves it without a warning
        os.unlink(path)

    @contextmanager
    def held(self) -> Iterator[dict[str, Any]]:
        """Yield the mapping under a lock, and keep changes to it unless they exceed its size."""
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            known = self._known()
            yield known
            text = json.dumps(known).encode()
            if len(text) <= len(self._memory):
                self._memory[:] = text.ljust(len(self._memory), b"\0")
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def seen(self) -> dict[str, Any]:
        """Return the mapping without waiting for the lock; empty in the moment of a change."""
        return self._known()

    def _known(self) -> dict[str, Any]:
        try:
            known: dict[str, Any] = json.loads(self._memory[:].rstrip(b"\0") or b"{}")
        except ValueError:
            return {}
        return known


def _keep_from_swap(memory: mmap.mmap) -> None:
    """Lock the pages if the limit of the user allows it; all processes share them."""
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    with suppress(AttributeError, OSError):  # a system without mlock
        ctypes.CDLL(None).mlock(ctypes.c_void_p(start), ctypes.c_size_t(len(memory)))


class Board:
    """Account -> progress {step, done, total, unit}, as the engine gives it; done and total are None when unknown."""

    def __init__(self) -> None:
        self._shared = Shared(64 * 1024)
        self._patience = PATIENCE

    def put(self, account: str, progress: JobProgress | None) -> None:
        """Set the progress of an account; None: its work has ended."""
        with self._shared.held() as entries:
            if progress is None:
                entries.pop(account, None)
            else:
                entries[account] = dict(progress)

    def entries(self) -> dict[str, JobProgress]:
        """Return the progress of each account."""
        return {name: entry for name, entry in self._shared.seen().items() if name != HUSH}

    def new_steps(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return account -> step where the step has changed; for output without a live line."""
        return {name: one["step"] for name, one in self.entries().items() if before.get(name) != one["step"]}

    @contextmanager
    def hushed(self) -> Iterator[None]:
        """Keep all processes from drawing on the terminal while the user is asked something."""
        self._hush(1)
        time.sleep(SETTLED)
        try:
            yield
        finally:
            self._hush(-1)

    def _hush(self, by: int) -> None:
        with self._shared.held() as entries:
            known = entries.get(HUSH, {"count": 0, "since": 0.0, "waited": 0.0})
            now = time.monotonic()  # the same clock in all processes
            waited = known["waited"] + (now - known["since"] if known["count"] else 0.0)
            entries[HUSH] = {"count": known["count"] + by, "since": now, "waited": waited}

    def waited(self) -> float:
        """Return for how many seconds the user was asked something so far, up to the last answer."""
        return float(self._shared.seen().get(HUSH, {}).get("waited", 0.0))

    def wait_for_answers(self) -> None:
        """Wait while the user is asked something, for PATIENCE seconds in this process at most."""
        while self._patience > 0 and self.is_hushed():
            self._patience -= TICK
            time.sleep(TICK)

    def is_hushed(self) -> bool:
        """Return True while the user is asked something."""
        return bool(self._shared.seen().get(HUSH, {}).get("count"))


class Clock:
    """Which accounts are under way, and how long the run worked: not while it waited for the user.

    waited: the seconds of that so far. total: accounts of the play.
    """

    def __init__(self, waited: Callable[[], float]) -> None:
        self._waited, self._begun = waited, time.monotonic()
        self._started: dict[str, float] = {}
        self.under_way: dict[str, None] = {}
        self._done = self.total = 0

    def elapsed(self) -> float:
        """Return the seconds that the run worked so far."""
        return time.monotonic() - self._begun - self._waited()

    def begin_task(self) -> None:
        """Note that no account has done the next task."""
        self.under_way, self._done = {}, 0

    def begin(self, name: str, is_shown: bool) -> None:
        """Note that the task of an account begins. is_shown: whether the live line names it."""
        self._started[name] = self.elapsed()
        self.under_way.update({name: None} if is_shown else {})

    def end(self, name: str) -> float | None:
        """Note that the task of an account is over, and return its seconds."""
        self._done += self.under_way.pop(name, 0) is None
        begun = self._started.get(name)
        return None if begun is None else max(0.0, self.elapsed() - begun)

    def moment(self) -> tuple[list[str], int, int, float]:
        """Return what the live line shows: the fields of a Moment without the frame."""
        return list(self.under_way), self._done, self.total, self.elapsed()


class Ticker:
    """A thread that calls a function 20 times a second until it is stopped, at the latest when the program ends."""

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
        """Stop the thread and call the last function. Does nothing in a forked process, which has no such thread."""
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
            except Exception:  # an error in drawing must not stop a run
                self._last()
                return


BOARD = Board()
