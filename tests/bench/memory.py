# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory a run takes at its worst moment: all its processes together, what they share counted once."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from pathlib import Path
from types import TracebackType

EVERY = 0.5  # seconds between two looks, each of which costs the machine some milliseconds
KIB = re.compile(r"^(?:Pss|VmRSS):\s+([0-9]+) kB", re.MULTILINE)


def children(pid: int) -> set[int]:
    """What a process started itself and is still there."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found |= {int(child) for child in (task / "children").read_text(encoding="ascii").split()}
    return found


def descendants(pid: int) -> set[int]:
    """A process and all that came of it; those that went their own way (ssh's shared connections) are not in it."""
    return {pid}.union(*map(descendants, children(pid)))


def kib(pid: int) -> int:
    """What a process takes, its share of what it shares (PSS), in KiB; where that is not told, all it has (RSS)."""
    for name in ("smaps_rollup", "status"):
        with contextlib.suppress(OSError):
            found = KIB.search(Path(f"/proc/{pid}/{name}").read_text(encoding="ascii", errors="replace"))
            if found:
                return int(found[1])
    return 0


class Memory:
    """Looks at all that this process starts while it is entered. mb: the most that was seen, in MB."""

    def __init__(self) -> None:
        self._before = children(os.getpid())  # the testbed, say
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.mb = 0.0

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            mine = set[int]().union(*map(descendants, children(os.getpid()) - self._before))
            self.mb = max(self.mb, sum(map(kib, mine)) * 1024 / 1e6)
