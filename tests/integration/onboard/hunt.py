# SPDX-License-Identifier: GPL-3.0-or-later
"""A hunt for keys over the whole machine: every file written since a moment, every process; it ends by itself."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .leaks import leaks

BUDGET = 120.0  # seconds of one hunt
KERNELS = ("/proc", "/sys", "/dev/pts")  # their files are no files; /proc is looked at process by process
LARGEST = 256 * 1024 * 1024


class Hunt(NamedTuple):
    """What a hunt has seen: where keys are, and how much it has looked at; whole: it was through before its time."""

    places: frozenset[str]
    files: int
    processes: int
    seconds: float
    whole: bool

    def __str__(self) -> str:
        """For the record of a test."""
        return f"{self.files} files, {self.processes} processes, {self.seconds:.1f} s, {'all' if self.whole else 'cut'}"


def hunt(since: float, *keys: str, roots: tuple[str, ...] = ("/",), budget: float = BUDGET) -> Hunt:
    """Look for any form of the keys below the roots and in the arguments and environments of all processes."""
    began = time.monotonic()
    found: set[str] = set()
    counted = {"file": 0, "process": 0}
    whole = True
    for kind, path in _everything(roots, since):
        if time.monotonic() - began > budget:
            whole = False
            break
        counted[kind] += 1
        if leaks(os.fsencode(path) + b"\n" + _content(path), *keys):
            found.add(path)
    return Hunt(frozenset(found), counted["file"], counted["process"] // 2, time.monotonic() - began, whole)


def _everything(roots: tuple[str, ...], since: float) -> Iterator[tuple[str, str]]:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        yield from (("process", f"/proc/{pid}/{what}") for what in ("cmdline", "environ"))
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if os.path.join(folder, name) not in KERNELS]
            yield from (("file", path) for name in names if _is_new(path := os.path.join(folder, name), since))


def _is_new(path: str, since: float) -> bool:
    """Whether it is a plain file, or a link, that has changed since then; others' files come and go meanwhile."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    plain = stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST
    return (plain or stat.S_ISLNK(found.st_mode)) and found.st_ctime >= since


def _content(path: str) -> bytes:
    try:
        return os.fsencode(os.readlink(path)) if os.path.islink(path) else Path(path).read_bytes()
    except OSError:
        return b""
