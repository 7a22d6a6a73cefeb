# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A walk through a tree of folders that ends in time, follows no link, opens no file and stays on its file system.

A scratch area may hold millions of files on a slow file server; a walk counts what it passes, and says when it
ended before the tree did.
"""

import itertools
import os
import stat
import time
from typing import Iterator, List, NamedTuple, Optional, Tuple

from .._core.errors import errno_name
from .._core.host import Host

DEPTH = 40

Passed = NamedTuple("Passed", [("path", str), ("status", os.stat_result)])


class Walk:
    """What may be spent on all trees together: entries that are looked at, and seconds.

    cut says why a walk ended early: "" (it did not), "entries" or "time"; only a walk that was cut by entries
    finds the same the next time. closed holds the folders that were not entered, as a person reads them, with why.
    """

    def __init__(self, host: Host, entries: int, seconds: float) -> None:
        self._host = host
        self._left = entries
        self._deadline = time.time() + seconds
        self.cut = ""
        self.closed: List[str] = []

    def below(self, folder: str) -> Iterator[Passed]:
        """Everything below a folder but the folder itself, each folder before what it holds, names in order."""
        self.cut = ""
        try:
            device = os.lstat(self._host.real(folder)).st_dev
        except OSError as error:
            self._shut(folder, error)
            return
        pending: List[Tuple[str, int]] = [(folder, 0)]
        while pending:
            above, depth = pending.pop()
            folders = []
            for name in self._names(above):
                path = above.rstrip("/") + "/" + name
                status = self._status(path)
                if self.cut:
                    return
                if status is None:
                    continue
                yield Passed(path, status)
                if not stat.S_ISDIR(status.st_mode):
                    continue
                if status.st_dev == device and depth < DEPTH:
                    folders.append((path, depth + 1))
                else:
                    why = "too deep" if status.st_dev == device else "another file system"
                    self.closed.append("%s (%s)" % (self._host.shown(path), why))
            if self.cut:
                return
            pending.extend(reversed(folders))

    def _names(self, folder: str) -> List[str]:
        """The names of a folder in order; no more of them than may still be looked at."""
        try:
            with os.scandir(self._host.real(folder)) as entries:
                names = [entry.name for entry in itertools.islice(entries, self._left + 1)]
        except OSError as error:
            self._shut(folder, error)
            return []
        return sorted(names)

    def _status(self, path: str) -> Optional[os.stat_result]:
        if self._left <= 0 or time.time() > self._deadline:
            self.cut = "entries" if self._left <= 0 else "time"
            return None
        self._left -= 1
        try:
            return os.lstat(self._host.real(path))
        except OSError as error:
            self._shut(path, error)
            return None

    def _shut(self, path: str, error: OSError) -> None:
        if errno_name(error) != "ENOENT":  # it went meanwhile
            self.closed.append("%s (%s)" % (self._host.shown(path), errno_name(error)))


def counted(number: int, what: str, walk: Walk) -> str:
    """The number in words that stay true when the walk was cut: 'at least 12 files', or 'files'."""
    words = "%d %s" % (number, what if number != 1 else what.rstrip("s"))
    return {"": words, "entries": "at least " + words, "time": what}[walk.cut]


def size(number: float) -> str:
    """Bytes as a person reads them: 1.5 GB; units of a thousand."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return "%d %s" % (number, unit) if unit == "bytes" or number >= 100 else "%.1f %s" % (number, unit)
        number /= 1000.0
    return ""
