# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process of the test's own, to be killed or to write at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable


def child(work: Callable[[], None]) -> int:
    """The pid of a process that does the work."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid
