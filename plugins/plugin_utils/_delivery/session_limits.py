# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits for one SSH session: how long it may take, how late its command may begin, how much it may print.

The engine bounds its own work and its answer, but what runs before it does not: a start-up file that waits or prints
without end, a home that hangs. Ansible reads everything that a command prints, and returns when the command ends. The
first line that the command prints (payload.BEGUN) shows that it has begun.
"""

from __future__ import annotations

import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from . import payload
from .answer import LARGEST, NoAnswer

if TYPE_CHECKING:
    import subprocess
    from types import FrameType

CommandOutput = dict[str, Any]  # Ansible's: rc, stdout, stderr

ROOM = 16 * LARGEST
"""Bytes by which this process may grow in a session: an answer is read, decoded and parsed, with noise around it."""
INTERVAL = 0.1  # seconds between two checks
SOON = 0.003  # seconds between them once ssh has ended: what it printed may not all have been read yet
PATIENCE = 600.0
"""Seconds for one session. Each file system that hangs takes half a minute of them."""
SECONDS = 30.0  # for one resource, where the plan does not say (_engine/engine.py)
AGAIN = "Log in by hand to check, then run again: the run continues from this point"
SILENT = (
    "no answer in {seconds:.0f} s: a start-up file may wait for input, or the home directory may not respond. " + AGAIN
)
UNBEGUN = (
    "the login node accepted the connection, but no command started within {seconds:.0f} s: the home directory does not"
    " respond, or a start-up file waits for input. Run 'ssh {typed} true': if it ends at once, run again; if not, ask"
    " the site"
)
FLOODED = (
    f"more than {LARGEST // 2**20} MB of output came instead of an answer, so the session was ended: a start-up file"
    f" may print endlessly. {AGAIN}"
)


class Ended(BaseException):  # no handler of failures may catch it
    """The command of ssh has ended with a whole answer, and Ansible still waits. output: what Ansible would return.

    With -v, the process of a shared connection keeps stderr open, and Ansible waits a second for more.
    """

    def __init__(self, output: CommandOutput) -> None:
        super().__init__()
        self.output = output


class StartLimit(NamedTuple):
    """How long a command of ssh may take to begin. typed: returns what a user types after "ssh" for that account."""

    seconds: float
    typed: Callable[[], str]


def start_limit(
    connection: Any, document: Mapping[str, Any], account: Mapping[str, Any], typed: Callable[[], str]
) -> StartLimit | None:
    """Return the limit for the start: as long as one resource may take, at least twice ssh's time for connecting.

    Return None if the command may wait for the user first, or is not sent by ssh.
    """
    if connection.transport != "ssh" or "asks_each_time" in account:
        return None
    return StartLimit(max(document.get("seconds") or SECONDS, 2.0 * connection.get_option("timeout")), typed)


@contextmanager
def limited(seconds: float, start: StartLimit | None = None) -> Iterator[None]:
    """Raise NoAnswer if the block takes longer than that, uses too much memory, or the command of ssh does not begin.

    Raise Ended as soon as that command has ended with an answer.

    Ansible's limit for the task applies as well: its alarm is restored afterwards, with the seconds that are left.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    started, largest = time.monotonic(), peak_memory() + ROOM
    task_limit = signal.getitimer(signal.ITIMER_REAL)[0]
    limit = min(seconds, task_limit or seconds)
    waiting_pid, waiting_since = 0, started  # the ssh process whose command has not begun, and its first sighting

    def check(_number: int, frame: FrameType | None) -> None:
        nonlocal task_limit, waiting_pid, waiting_since
        now = time.monotonic()
        local = _find_loop(frame) if start else {}
        if _has_ended(local):
            raise Ended(_to_output(local))
        process = _unbegun_process(local)
        if process and process.pid != waiting_pid:
            waiting_pid, waiting_since = process.pid, now
        if start and process and now - waiting_since >= start.seconds:
            process.terminate()  # Ansible would wait for it
            raise NoAnswer(UNBEGUN.format(seconds=start.seconds, typed=start.typed()))
        if now - started >= limit:
            task_limit = 0.0
            raise NoAnswer(SILENT.format(seconds=limit))
        if peak_memory() > largest:
            raise NoAnswer(FLOODED)

    def check_soon(_number: int, _frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, SOON, SOON)

    handler = signal.signal(signal.SIGALRM, check)
    child_handler = signal.signal(signal.SIGCHLD, check_soon if start else signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, INTERVAL, INTERVAL)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, child_handler)
        remaining = max(0.1, task_limit - (time.monotonic() - started)) if task_limit else 0
        signal.setitimer(signal.ITIMER_REAL, remaining)
        signal.signal(signal.SIGALRM, handler)


def _find_loop(frame: FrameType | None) -> Mapping[str, Any]:
    """Return the local variables of the loop in which Ansible reads from ssh: it returns the output only at the end."""
    while frame and frame.f_code.co_name != "_bare_run":
        frame = frame.f_back
    return frame.f_locals if frame else {}


def _unbegun_process(local: Mapping[str, Any]) -> subprocess.Popen[bytes] | None:
    """Return the process of ssh that Ansible is reading, or None if its command has begun."""
    printed = [local.get(name, b"") for name in ("b_stderr", "b_stdout")]  # a start-up file may redirect one of them
    return None if any(payload.BEGUN.encode() in output for output in printed) else local.get("p")


def _has_ended(local: Mapping[str, Any]) -> bool:
    """Return True if the process has ended, and the last that it printed is the end of an answer."""
    process = local.get("p")
    is_whole = local.get("b_stdout", b"").rstrip().endswith(b"\n" + payload.FRAME.encode())
    return is_whole and process is not None and process.poll() is not None


def _to_output(local: Mapping[str, Any]) -> CommandOutput:
    """Return the output as Ansible returns it."""
    texts = {name: local[f"b_{name}"].decode("utf-8", "surrogateescape") for name in ("stdout", "stderr")}
    return {"rc": local["p"].returncode, **texts}


def peak_memory() -> int:
    """Return the largest number of bytes that this process has used so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
