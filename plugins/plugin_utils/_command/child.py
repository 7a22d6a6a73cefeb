# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run ansible-playbook as a child process, forward signals to it, and translate its exit code.

A child is needed, since Ansible's exit codes are ambiguous: 1, 4, 5 and 250 may all mean that an accounts file is
broken, and 0 that no account was selected (see verdict.py).
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

FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # the terminal sends these to both processes, and the child decides
FORWARDED = (signal.SIGTERM, signal.SIGHUP)  # sent to this process only
GRACE = 10  # seconds until the child is killed: while it asks a question, Ansible does not end by itself
INTERRUPTED = 99  # Ansible's exit code after Ctrl-C
OK, BAD, UNREACHABLE = 0, 2, 4  # exit codes of hpc-onboard; 4 is also Ansible's for an unreachable account


def find_playbook_program() -> str:
    """Return the path of ansible-playbook: next to this Python, else on PATH. Raises CommandError."""
    neighbour = Path(sys.executable).with_name("ansible-playbook")
    path = str(neighbour) if os.access(neighbour, os.X_OK) else shutil.which("ansible-playbook")
    if not path:
        raise CommandError(
            f"ansible-playbook is neither next to {sys.executable} nor on PATH.\n"
            "If hpc-onboard is in a virtual environment, activate the environment. To install ansible-playbook, run: "
            f"{sys.executable} -m pip install ansible-core"
        )
    return path


def run(command: list[str], environment: Mapping[str, str]) -> tuple[int, RunTotals | None]:
    """Run ansible-playbook to its end. Return its exit code, and the totals of the run; None if it sent no totals.

    command: begins with the program's path. environment: of the program. The exit code is -N if signal N ended the
    program. Raises CommandError if the program cannot be started.
    """
    typing = signals.Typing()  # switches the echo of the terminal
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)  # the child sends its totals
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # until there is a child to forward them to
    typing.set_hidden(True)  # the user may paste a key while Ansible still starts
    handlers = {number: signal.getsignal(number) for number in (*FROM_TERMINAL, *FORWARDED)}
    for number in FROM_TERMINAL:
        if handlers[number] is not signal.SIG_IGN:  # ignored in a background job: leave that as it is
            signal.signal(number, lambda _number, _frame: None)  # not SIG_IGN, which the child would inherit
    # HANDLE: the pipe for the totals. handover: the pipe for the encryption key of an unlocked key file.
    try:
        child = os.posix_spawn(
            command[0],
            command,
            {**environment, HANDLE: str(write_end), handover.VARIABLE: handover.open_pipe().text()},
            setsigmask=(),  # no signal is blocked in the child
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),  # Python ignores these two; the child would inherit that
        )
    except OSError as error:  # such as a program whose Python was removed
        typing.show()
        raise CommandError(
            f"{command[0]} cannot be started ({error.strerror}). To install ansible-playbook again, run: "
            f"{sys.executable} -m pip install --force-reinstall ansible-core"
        ) from None
    os.close(write_end)

    def forward(number: int, _frame: object) -> None:
        """Send the signal of this number to the child, which is killed if it has not ended after GRACE seconds."""
        os.kill(child, number)
        signal.alarm(GRACE)

    signal.signal(signal.SIGALRM, lambda _number, _frame: os.kill(child, signal.SIGKILL))
    for number in FORWARDED:
        if handlers[number] is not signal.SIG_IGN:  # such as SIGHUP under nohup
            signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    _child, status = os.waitpid(child, 0)
    typing.show()
    for number, handler in handlers.items():  # hpc-onboard may ask a question next
        signal.signal(number, handler)
    signal.alarm(0)  # last, because a signal that arrives before sets it
    return os.waitstatus_to_exitcode(status), receive_totals(read_end)


def to_exit_code(code: int, totals: RunTotals | None) -> int:
    """Return hpc-onboard's exit code for Ansible's exit code (code): OK, BAD or UNREACHABLE.

    totals: numbers of accounts; seen: all that the run selected. None if the run sent none, because it ended before it
    tried to reach an account.
    """
    if code == 0:
        has_no_account = totals is not None and not totals.seen  # None here: such as --list-hosts, which needs none
        return BAD if has_no_account else OK
    only_unreachable = totals is not None and totals.unreachable and not totals.failed
    return UNREACHABLE if code == UNREACHABLE and only_unreachable else BAD


def end_by_signal(number: int) -> None:
    """End this process by the signal (number) that ended the child: a shell stops its loops only in this case."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
