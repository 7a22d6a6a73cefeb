# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run tells the command that started it, beside its exit code.

Ansible ends with 4 for an account that was not reached and for a file that it cannot read alike, and with 0 when there
was no account at all. So the console writes how many accounts ended how into a pipe, at the end of the run.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import NamedTuple

HANDLE = "HPC_ONBOARD_VERDICT_FD"
MOST = 4096  # bytes that a pipe takes at once, whoever reads


class RunTotals(NamedTuple):
    """Numbers of accounts: looked at at all, failed, not reached, changed or to be changed.

    replaceable: the names of those with keys that hpc-onboard would replace if the user agreed.
    """

    seen: int
    failed: int
    unreachable: int
    changed: int = 0
    replaceable: tuple[str, ...] = ()


def send_totals(verdict: RunTotals) -> None:
    """Tell the command that started this run, if one did."""
    handle = os.environ.get(HANDLE, "")
    if handle.isdigit():
        with suppress(OSError):  # a program between us may have closed it
            whole = json.dumps(verdict).encode()
            os.write(
                int(handle), whole if len(whole) <= MOST else json.dumps(verdict._replace(replaceable=())).encode()
            )


def receive_totals(handle: int) -> RunTotals | None:
    """What was told, once the run is over; None when it ended before that. Never waits: others may hold the pipe."""
    os.set_blocking(handle, False)
    try:
        found = RunTotals(*json.loads(os.read(handle, MOST)))
        return found._replace(replaceable=tuple(found.replaceable))
    except (OSError, ValueError, TypeError):
        return None
