# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits for one SSH session: how long it may take, how late its command may begin, how much it may print.

The engine limits its own work and its answer. Before the engine starts, though, a start-up file may wait or print
without end, or the home directory may hang. Ansible reads everything that a command prints, and returns when the
command ends. The first line that the command prints (payload.BEGUN) shows that it has begun.
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

MOST_GROWTH = 16 * LARGEST
"""Bytes by which this process may grow in a session: it reads, decodes and parses an answer with noise around it."""
INTERVAL = 0.1  # seconds between two checks
SHORT_INTERVAL = 0.003  # seconds between two checks once ssh has ended: Ansible may not have read all output yet
PATIENCE = 600.0
"""Seconds for one session. Each file system that hangs takes half a minute of them."""
SECONDS = 30.0  # time limit for one resource, unless the plan sets another limit (_engine/engine.py)
ADVICE = "Log in by hand to check, then run hpc-onboard again: the run continues from this point"
NO_ANSWER = (
    "no answer in {seconds:.0f} s: a start-up file may wait for input, or the home directory may not respond."
    f" {ADVICE}"
)
NOT_BEGUN = (
    "the login node accepted the connection, but no command started within {seconds:.0f} s: the home directory does not"
    " respond, a start-up file waits for input, or your ssh agent does not respond. Run 'ssh-add -l': if that command"
    " hangs, restart the agent. Run 'ssh {ssh_arguments} true': if that command ends at once, run hpc-onboard again;"
    " if not, ask the site"
)
TOO_LARGE = (
    f"the account sent more than {LARGEST // 2**20} MB of output instead of an answer, so hpc-onboard ended the"
    f" session: a start-up file may print endlessly. {ADVICE}"
)


class CommandEnded(BaseException):  # no handler of failures may catch it
    """The command of ssh has ended with a complete answer, but Ansible still waits. output: as Ansible returns it.

    With -v, the process of a shared connection keeps stderr open, and Ansible waits a second for more.
    """

    def __init__(self, output: CommandOutput) -> None:
        super().__init__()
        self.output = output


class StartLimit(NamedTuple):
    """The seconds in which a command of ssh must begin.

    ssh_arguments: returns what a user types after "ssh" for the account.
    """

    seconds: float
    ssh_arguments: Callable[[], str]


def make_start_limit(
    connection: Any, plan: Mapping[str, Any], account: Mapping[str, Any], ssh_arguments: Callable[[], str]
) -> StartLimit | None:
    """Return the limit for the start: as long as one resource may take, at least twice ssh's time for connecting.

    connection: Ansible's. plan: its field "seconds" limits each resource. account: Ansible's variable of this name.
    ssh_arguments: see StartLimit. Return None if the command may wait for the user first, or is not sent by ssh.
    """
    if connection.transport != "ssh" or "asks_each_time" in account:
        return None
    seconds = max(plan.get("seconds") or SECONDS, 2.0 * connection.get_option("timeout"))
    return StartLimit(seconds, ssh_arguments)


@contextmanager
def limit_session(seconds: float, start: StartLimit | None = None) -> Iterator[None]:
    """Raise NoAnswer if the block takes too long, uses too much memory, or the command of ssh does not begin in time.

    Raise CommandEnded as soon as that command has ended with an answer. seconds: for the block. start: for the begin
    of the command; None for no limit. Ansible's time limit for the task applies, too: its alarm is restored afterwards.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    started, most_memory = time.monotonic(), peak_memory() + MOST_GROWTH
    task_limit = signal.getitimer(signal.ITIMER_REAL)[0]
    limit = min(seconds, task_limit or seconds)  # a task_limit of 0 means no limit
    waiting_pid, waiting_since = 0, started  # of the ssh process whose command has not begun

    def check_limits(_number: int, frame: FrameType | None) -> None:
        """Raise an exception if a limit of limit_session is exceeded. frame: the code that the alarm interrupted."""
        nonlocal task_limit, waiting_pid, waiting_since
        now = time.monotonic()
        loop_variables = _find_loop_variables(frame) if start else {}
        if _has_ended(loop_variables):
            raise CommandEnded(_to_output(loop_variables))
        process = _find_unbegun_process(loop_variables)
        if process and process.pid != waiting_pid:
            waiting_pid, waiting_since = process.pid, now
        if start and process and now - waiting_since >= start.seconds:
            process.terminate()  # otherwise Ansible would wait for its end
            raise NoAnswer(NOT_BEGUN.format(seconds=start.seconds, ssh_arguments=start.ssh_arguments()))
        if now - started >= limit:
            task_limit = 0.0  # this exception ends the task, so Ansible's alarm is not restored
            raise NoAnswer(NO_ANSWER.format(seconds=limit))
        if peak_memory() > most_memory:
            raise NoAnswer(TOO_LARGE)

    def check_soon(_number: int, _frame: FrameType | None) -> None:
        """Check more often from now on, because a process of this task, such as ssh, has ended."""
        signal.setitimer(signal.ITIMER_REAL, SHORT_INTERVAL, SHORT_INTERVAL)

    former_handler = signal.signal(signal.SIGALRM, check_limits)
    former_child_handler = signal.signal(signal.SIGCHLD, check_soon if start else signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, INTERVAL, INTERVAL)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, former_child_handler)
        # an alarm of 0 s would never come, so a limit that has passed becomes 0.1 s
        remaining = max(0.1, task_limit - (time.monotonic() - started)) if task_limit else 0
        signal.setitimer(signal.ITIMER_REAL, remaining)
        signal.signal(signal.SIGALRM, former_handler)


def _find_loop_variables(frame: FrameType | None) -> Mapping[str, Any]:
    """Return the local variables of the loop in which Ansible reads the output of ssh; {} outside that loop."""
    while frame and frame.f_code.co_name != "_bare_run":
        frame = frame.f_back
    return frame.f_locals if frame else {}


def _find_unbegun_process(loop_variables: Mapping[str, Any]) -> subprocess.Popen[bytes] | None:
    """Return the process of ssh that Ansible reads from; None if its command has begun, or if no process runs.

    loop_variables: from _find_loop_variables.
    """
    outputs = [loop_variables.get(name, b"") for name in ("b_stderr", "b_stdout")]  # a start-up file may redirect one
    return None if any(payload.BEGUN.encode() in output for output in outputs) else loop_variables.get("p")


def _has_ended(loop_variables: Mapping[str, Any]) -> bool:
    """Return True if the process of ssh has ended, and its output ends with a complete answer.

    loop_variables: from _find_loop_variables.
    """
    process = loop_variables.get("p")
    is_complete = loop_variables.get("b_stdout", b"").rstrip().endswith(b"\n" + payload.FRAME.encode())
    return is_complete and process is not None and process.poll() is not None


def _to_output(loop_variables: Mapping[str, Any]) -> CommandOutput:
    """Return the output of ssh as Ansible returns it. loop_variables: from _find_loop_variables."""
    texts = {name: loop_variables[f"b_{name}"].decode("utf-8", "surrogateescape") for name in ("stdout", "stderr")}
    return {"rc": loop_variables["p"].returncode, **texts}


def peak_memory() -> int:
    """Return the largest number of bytes that this process has used so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # other systems count in KiB
