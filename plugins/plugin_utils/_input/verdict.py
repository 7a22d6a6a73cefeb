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


class Verdict(NamedTuple):
    """Numbers of accounts: looked at at all, failed, not reached, changed or to be changed."""

    seen: int
    failed: int
    unreachable: int
    changed: int = 0


def tell(verdict: Verdict) -> None:
    """Tell the command that started this run, if one did."""
    handle = os.environ.get(HANDLE, "")
    if handle.isdigit():
        with suppress(OSError):  # a program between us may have closed it
            os.write(int(handle), json.dumps(verdict).encode())


def hear(handle: int) -> Verdict | None:
    """What was told, once the run is over; None when it ended before that. Never waits: others may hold the pipe."""
    os.set_blocking(handle, False)
    try:
        return Verdict(*json.loads(os.read(handle, MOST)))
    except (OSError, ValueError, TypeError):
        return None
