# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small mapping that the processes of one run share, whatever the number of accounts; and one of them, watched.

Ansible runs every account in a forked process. What one of them learns reaches the others, and the
main process, through anonymous memory: it has no name, is kept out of core dumps and of swap, and is gone with the
run. A Shared must be made before the forks, at import.

On the board stands what is under way on which account, for whoever shows it: the workers write, the main process
reads, in a thread that looks every moment.
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
SETTLED = 0.15  # seconds after which whoever draws has seen that it must not
TICK = 0.05
PATIENCE = 300.0  # seconds in a run that lines wait for a person who is asked something


def end_with_parent() -> None:
    """Let this worker end when the main process does: no one else answers what it asks, or frees what it holds.

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
        """The mapping, for this process alone; what is changed in it is kept. What does not fit is not."""
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
        """The mapping as it is now, without waiting for one who holds it; empty in the moment of a change."""
        return self._known()

    def _known(self) -> dict[str, Any]:
        try:
            known: dict[str, Any] = json.loads(self._memory[:].rstrip(b"\0") or b"{}")
        except ValueError:
            return {}
        return known


def _keep_from_swap(memory: mmap.mmap) -> None:
    """Lock it, where the user's limit allows that; the main process holds the lock for all, which share the pages."""
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    with suppress(AttributeError, OSError):  # a system without mlock
        ctypes.CDLL(None).mlock(ctypes.c_void_p(start), ctypes.c_size_t(len(memory)))


class Board:
    """Account -> progress {step, done, total, unit}, as the engine gives it; done and total are None when unknown."""

    def __init__(self) -> None:
        self._shared = Shared(64 * 1024)
        self._patience = PATIENCE

    def put(self, account: str, progress: JobProgress | None) -> None:
        """Say how far an account is; None: nothing is under way there any more."""
        with self._shared.held() as entries:
            if progress is None:
                entries.pop(account, None)
            else:
                entries[account] = dict(progress)

    def entries(self) -> dict[str, JobProgress]:
        """How far each account is."""
        return {name: entry for name, entry in self._shared.seen().items() if name != HUSH}

    def new_steps(self, before: Mapping[str, str]) -> dict[str, str]:
        """Account -> step, of those whose step is another one than before; said where no line can be live."""
        return {name: one["step"] for name, one in self.entries().items() if before.get(name) != one["step"]}

    @contextmanager
    def hushed(self) -> Iterator[None]:
        """While a person is asked something: nobody may draw on the terminal."""
        self._hush(1)
        time.sleep(SETTLED)
        try:
            yield
        finally:
            self._hush(-1)

    def _hush(self, by: int) -> None:
        with self._shared.held() as entries:
            entries[HUSH] = {"count": entries.get(HUSH, {}).get("count", 0) + by}

    def wait_for_answers(self) -> None:
        """Say nothing into a question that somebody is being asked: as long as PATIENCE lasts in this process."""
        while self._patience > 0 and self.is_hushed():
            self._patience -= TICK
            time.sleep(TICK)

    def is_hushed(self) -> bool:
        """Whether a person is being asked something."""
        return bool(self._shared.seen().get(HUSH, {}).get("count"))


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


BOARD = Board()
