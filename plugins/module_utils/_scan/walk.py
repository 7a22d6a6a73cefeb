# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A walk through trees of folders that ends in time, follows no link, opens no file and stays on its file system.

A scratch area may hold millions of files on a slow file server; a walk counts what it passes, says when it ended
before the trees did, and which folders it did not enter.
"""

import itertools
import os
import time
from collections import deque
from typing import Callable, Deque, Iterator, List, NamedTuple, Optional, Set, Tuple

from .._core.errors import errno_name
from .._core.host import Host
from .._core.mounts import mount_points
from .amounts import count

Words = Callable[[str, OSError], str]


class Passed(NamedTuple):
    """What a walk has passed."""

    path: str
    status: os.stat_result


class Limits(NamedTuple):
    """Where a walk ends: names seen and seconds in all its trees together, folders within folders in each."""

    entries: int = 20000
    seconds: float = 15.0
    depth: int = 40


USUAL = Limits()


class LeftOut:
    """What a look did not see: paths as a person reads them, each with why, in the order in which they came."""

    def __init__(self) -> None:
        self.paths: List[Tuple[str, str]] = []

    def add(self, path: str, why: str) -> None:
        """Remember that a path was not looked at."""
        self.paths.append((path, why))

    def sentences(self) -> List[str]:
        """What was not looked at and why, one sentence for each reason."""
        said = []
        for reason in sorted({why for _path, why in self.paths}):
            several = sorted({path for path, why in self.paths if why == reason})
            more = " and %d more" % (len(several) - 3) if len(several) > 3 else ""
            said.append("not looked at: %s%s (%s)" % (", ".join(several[:3]), more, reason))
        return said


class Listed:
    """A folder and what is in it, by name. Who takes names out of folders keeps the walk from going into those."""

    def __init__(self, folder: str, entries: List["os.DirEntry[str]"]) -> None:
        self.folder = folder
        self.entries = entries
        self.files = [one.name for one in entries if one.is_file(follow_symlinks=False)]
        self.folders = [one.name for one in entries if one.is_dir(follow_symlinks=False)]

    def path(self, name: str) -> str:
        """Where one of the names lies."""
        return self.folder.rstrip("/") + "/" + name


def told_by_name(_path: str, error: OSError) -> str:
    """Why a folder was not entered; nothing where it went meanwhile."""
    return "" if errno_name(error) in ("ENOENT", "ENOTDIR") else errno_name(error)


class Walk:
    """What may be spent on all trees together, and what became of the last one.

    cut says why a walk ended early: "" (it did not), "entries" or "time", and cut_at in which folder; only a walk that
    was cut by entries finds the same the next time. words: why a folder that cannot be entered is left out, or
    nothing where that is not worth a word.
    """

    def __init__(self, host: Host, limits: Limits = USUAL, words: Words = told_by_name) -> None:
        self._host, self._words = host, words
        self._left, self._depth = limits.entries, limits.depth
        self._deadline = time.time() + limits.seconds
        self._mounts: Optional[Set[str]] = None
        self.cut = self.cut_at = ""
        self.left_out = LeftOut()

    def is_over(self) -> bool:
        """Whether the walk has taken as long, or seen as much, as it may."""
        return bool(self.cut) or time.time() > self._deadline

    def folders(self, top: str, deep_first: bool = False) -> Iterator[Listed]:
        """The folders of a tree with what is in them, names in order.

        Level by level, so that what lies near the top is seen even if the tree is too large; or deep_first, each
        folder with all that lies below it before the next.
        """
        self.cut = self.cut_at = ""
        pending: Deque[Tuple[str, int]] = deque([(top, 0)])
        device = self._device(top)
        while pending:
            place, depth = pending.popleft()
            if place != top and self._is_closed(place, depth, device):
                continue
            if time.time() > self._deadline:
                self.cut, self.cut_at = "time", place
                return
            listed = self._listed(place)
            yield listed
            if self.cut:
                return
            below = [(listed.path(name), depth + 1) for name in listed.folders]
            if deep_first:
                pending.extendleft(reversed(below))
            else:
                pending.extend(below)

    def below(self, top: str) -> Iterator[Passed]:
        """Everything below a folder but the folder itself, each folder before what it holds, and with its status."""
        for listed in self.folders(top, deep_first=True):
            for one in listed.entries:
                if time.time() > self._deadline:
                    self.cut, self.cut_at = "time", listed.folder
                    return
                try:
                    status = one.stat(follow_symlinks=False)
                except OSError as error:
                    self._shut(listed.path(one.name), error)
                else:
                    yield Passed(listed.path(one.name), status)

    def _device(self, folder: str) -> int:
        try:
            return os.lstat(self._host.real(folder) or "/").st_dev
        except OSError:
            return -1  # listing it will say why

    def _is_closed(self, place: str, depth: int, device: int) -> bool:
        """Whether a folder below the top is not gone into: too deep, or of another file system."""
        if self._mounts is None:
            self._mounts = set(mount_points())
        why = "too deep" if depth > self._depth else ""
        if self._host.root + place in self._mounts or self._device(place) not in (device, -1):
            why = "another file system"
        if why:
            self.left_out.add(self._host.shown(place), why)
        return bool(why)

    def _listed(self, folder: str) -> Listed:
        """What is in a folder; no more of it than may still be looked at."""
        try:
            with os.scandir(self._host.real(folder) or "/") as found:
                entries = list(itertools.islice(found, self._left + 1))
            if len(entries) > self._left:
                self.cut, self.cut_at = "entries", folder
                entries = entries[: self._left]
            self._left -= len(entries)
            return Listed(folder, sorted(entries, key=lambda one: one.name))
        except OSError as error:
            self._shut(folder, error)
            return Listed(folder, [])

    def _shut(self, path: str, error: OSError) -> None:
        why = self._words(path, error)
        if why:
            self.left_out.add(self._host.shown(path), why)


def counted(number: int, noun: str, walk: Walk) -> str:
    """The number in words that stay true when the walk was cut: 'at least 12 files', or 'files'."""
    words = count(number, noun)
    return {"": words, "entries": "at least " + words, "time": noun + "s"}[walk.cut]
