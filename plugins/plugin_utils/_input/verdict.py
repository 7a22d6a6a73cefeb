# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exit code of a run: the numbers of accounts that decide it, and whether all results were shown.

Ansible ends with 4 both for an unreachable account and for a file that it cannot read, and with 0 if no account
matched. So the console writes the numbers of accounts into a pipe at the end of the run.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from ...module_utils._core.errors import describe_bug

HANDLE = "HPC_ONBOARD_VERDICT_FD"  # environment variable with the number of the pipe's file descriptor
MOST = 4096  # bytes that a pipe accepts in one write (PIPE_BUF)


class BugGuard:
    """A context manager that reports an exception in the code that shows results. Ansible would only warn and continue.

    A preview then ends: the user must not be asked to agree to something that was not shown. Other runs continue, and
    must end with an error (has_bug).
    """

    def __init__(self, print_error: Callable[[str], None], is_preview: Callable[[], Any]) -> None:
        """Begin without a bug. print_error: prints an error. is_preview: returns a true value for a preview."""
        self.has_bug = False
        self._print_error, self._is_preview = print_error, is_preview

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: Any, error: BaseException | None, _trace: Any) -> bool:
        """Report the exception of the block, if any, and return True to continue. In a preview, end the run with 2."""
        if not isinstance(error, Exception) or isinstance(error, BrokenPipeError):  # as after "| head"
            return False
        self.has_bug = True
        cause = describe_bug(error)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):  # the output is a file
            cause = os.strerror(error.errno)
        self._print_error(f"A result cannot be shown: {cause}")
        if self._is_preview():
            raise SystemExit(2) from None
        return True


class RunTotals(NamedTuple):
    """Numbers of accounts. seen: all accounts of the run. changed: in check mode, those that would be changed.

    replaceable: names of accounts with keys that hpc-onboard would replace if the user agreed.
    """

    seen: int
    failed: int
    unreachable: int
    changed: int = 0
    replaceable: tuple[str, ...] = ()


def send_totals(totals: RunTotals) -> None:
    """Send the totals to the command that started this run, if any."""
    descriptor = os.environ.get(HANDLE, "")
    if descriptor.isdigit():
        content = json.dumps(totals).encode()
        if len(content) > MOST:
            content = json.dumps(totals._replace(replaceable=())).encode()  # the names are optional
        with suppress(OSError):  # a program in between may have closed the pipe
            os.write(int(descriptor), content)


def receive_totals(descriptor: int) -> RunTotals | None:
    """Return the totals of a run that has ended; None if the run sent no totals. descriptor: of the pipe."""
    os.set_blocking(descriptor, False)  # other processes may keep the pipe open, so reading could wait for ever
    try:
        totals = RunTotals(*json.loads(os.read(descriptor, MOST)))
        return totals._replace(replaceable=tuple(totals.replaceable))
    except (OSError, ValueError, TypeError):
        return None
