# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process of the test's own, to be killed or to write at the same time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

NOBODY = 65534


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


def as_nobody(look: Callable[[], Any]) -> Any:
    """What a look gives that a user without rights takes, when we are root; it goes through JSON."""
    reader, writer = os.pipe()

    def work() -> None:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        os.write(writer, json.dumps(look()).encode())

    pid = child(work)
    os.close(writer)
    os.waitpid(pid, 0)
    with os.fdopen(reader) as answer:
        return json.load(answer)
