# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-playbook as a child: it has the terminal, gets our signals, and its exit code becomes one of ours.

It is a child and does not take this process's place, because its exit codes are not ours: 1, 4, 5 and 250 may all mean
that an accounts file is broken, and 0 that there was no account (verdict.py).
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from .._input.verdict import HANDLE, RunTotals, receive_totals
from .._terminal import signals
from .._unlocked import handover
from .accounts import CommandError

FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # the terminal sends these to both of us: the child decides
FOR_US_ALONE = (signal.SIGTERM, signal.SIGHUP)
GRACE = 10  # seconds to end in: while a question stands, Ansible waits for its answer for ever
INTERRUPTED = 99  # how Ansible ends after Ctrl-C
OK, BAD, UNREACHABLE = 0, 2, 4


def playbook_program() -> str:
    """The ansible-playbook beside this Python, else the one on PATH."""
    beside = Path(sys.executable).with_name("ansible-playbook")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("ansible-playbook")
    if not found:
        raise CommandError(
            f"ansible-playbook is neither next to {sys.executable} nor on PATH.\n"
            "To install both, run: pip install hpc-onboard. If they are in a virtual environment, activate it."
        )
    return found


def run(words: list[str], environment: Mapping[str, str]) -> tuple[int, RunTotals | None]:
    """Run a program to its end: exit code, negative for a signal, and what it told. words: the program's path first."""
    typing = signals.Typing()
    hears, tells = os.pipe()
    os.set_inheritable(tells, True)
    signal.pthread_sigmask(signal.SIG_BLOCK, FOR_US_ALONE)  # until there is somebody to pass them on to
    typing.set_hidden(True)  # a key may be pasted while Ansible still starts
    before = {one: signal.getsignal(one) for one in (*FROM_TERMINAL, *FOR_US_ALONE)}
    for one in FROM_TERMINAL:
        if before[one] is not signal.SIG_IGN:  # a job in the background stays as it was started
            signal.signal(one, lambda _number, _frame: None)
    child = os.posix_spawn(
        words[0],
        words,
        {**environment, HANDLE: str(tells), handover.VARIABLE: handover.open_pipe().text()},
        setsigmask=(),
        setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),  # Python ignores them, and the child would, too
    )
    os.close(tells)

    def pass_on(number: int, _frame: object) -> None:
        os.kill(child, number)
        signal.alarm(GRACE)

    signal.signal(signal.SIGALRM, lambda _number, _frame: os.kill(child, signal.SIGKILL))
    for one in FOR_US_ALONE:
        if before[one] is not signal.SIG_IGN:
            signal.signal(one, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FOR_US_ALONE)
    _child, status = os.waitpid(child, 0)
    typing.show()
    for one, handler in before.items():  # a person may be asked something next
        signal.signal(one, handler)
    signal.alarm(0)  # last, since a signal that came meanwhile sets it
    return os.waitstatus_to_exitcode(status), receive_totals(hears)


def meaning(code: int, verdict: RunTotals | None) -> int:
    """One of our exit codes. What ended before the end of the play has told nothing, and is never a 4."""
    if code == 0:
        return OK if verdict is None or verdict.seen else BAD
    only_unreachable = verdict is not None and verdict.unreachable and not verdict.failed
    return UNREACHABLE if code == UNREACHABLE and only_unreachable else BAD


def end_by(number: int) -> None:
    """End as the child did, by that signal: shells and their loops stop only for a program that does."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
