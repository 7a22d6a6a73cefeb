# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A walk through folder trees within limits. It follows no link, opens no file and stays on one file system.

A scratch area may contain millions of files on a slow file server. A walk therefore stops after a number of entries or
seconds, and records if it stopped early, and which folders it did not enter.
"""

import itertools
import os
import time
from collections import deque
from typing import Callable, Deque, Iterator, List, NamedTuple, Optional, Set, Tuple

from .._core.errors import errno_name
from .._core.host import Host
from .._core.mounts import list_mount_points
from .amounts import format_count


class WalkedEntry(NamedTuple):
    """One file, folder or link that a walk has passed."""

    path: str
    status: os.stat_result


class Limits(NamedTuple):
    """The limits of a walk."""

    entries: int = 20000  # in all trees together
    seconds: float = 15.0  # for all trees together
    depth: int = 40  # of nested folders in each tree


USUAL = Limits()


class SkippedPaths:
    """Paths that were not examined, as messages show them, each with the reason."""

    def __init__(self) -> None:
        self.paths: List[Tuple[str, str]] = []

    def add(self, path: str, why: str) -> None:
        """Record a path that was not examined."""
        self.paths.append((path, why))

    def sentences(self) -> List[str]:
        """Return one sentence for each reason, with up to three of its paths."""
        sentences = []
        for reason in sorted({why for _path, why in self.paths}):
            paths = sorted({path for path, why in self.paths if why == reason})
            more = " and %d more" % (len(paths) - 3) if len(paths) > 3 else ""
            sentences.append("not checked: %s%s (%s)" % (", ".join(paths[:3]), more, reason))
        return sentences


class FolderListing:
    """A folder and its entries. The walk enters only the subfolders in folders, from which a caller may remove names.

    entries: all entries of the folder. files, folders: the names of the regular files and of the subfolders.
    """

    def __init__(self, folder: str, entries: List["os.DirEntry[str]"]) -> None:
        self.folder = folder
        self.entries = entries
        self.files = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        self.folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def path(self, name: str) -> str:
        """Return the path of an entry."""
        return self.folder.rstrip("/") + "/" + name


def _reason_by_error(_path: str, error: OSError) -> str:
    """Return the reason to record for an error; empty if the folder was removed during the walk."""
    name = errno_name(error)
    return {"ENOENT": "", "ENOTDIR": "", "EACCES": "permission denied"}.get(name, name)


class Walk:
    """A walk through one or more trees, with common limits.

    cut: the limit that ended the walk through the last tree, "entries" or "time"; "" if that walk is complete. A walk
    that time ended has a different result the next time. cut_at: the folder in which the walk ended. skipped: the
    folders that were not entered. find_reason: a function that is called with a path that cannot be read and the error,
    and returns the reason to record, or "" to record nothing.
    """

    def __init__(
        self, host: Host, limits: Limits = USUAL, find_reason: Callable[[str, OSError], str] = _reason_by_error
    ) -> None:
        self._host, self._find_reason = host, find_reason
        self._entries_left, self._depth = limits.entries, limits.depth
        self._deadline = time.time() + limits.seconds
        self._mounts: Optional[Set[str]] = None  # read when a walk first enters a subfolder
        self.cut = self.cut_at = ""
        self.skipped = SkippedPaths()

    def is_over(self) -> bool:
        """Return True if a limit has ended the walk, or no time is left."""
        return bool(self.cut) or time.time() > self._deadline

    def folders(self, top: str, deep_first: bool = False) -> Iterator[FolderListing]:
        """Yield the listing of each folder of a tree, sorted by name.

        By default, the folders come level by level, so that a walk through a large tree completes at least the upper
        levels. With deep_first, all folders below a folder come before the next folder.
        """
        self.cut = self.cut_at = ""
        pending: Deque[Tuple[str, int]] = deque([(top, 0)])
        device = self._device_number(top, follows_link=True)  # at some sites, the home directory is a link
        while pending:
            path, depth = pending.popleft()
            if path != top and self._is_out_of_bounds(path, depth, device):
                continue
            if time.time() > self._deadline:
                self.cut, self.cut_at = "time", path
                return
            listing = self._list_folder(path)
            yield listing
            if self.cut:  # the limit of entries ended the listing, or the limit of time ended below()
                return
            below = [(listing.path(name), depth + 1) for name in listing.folders]
            if deep_first:
                pending.extendleft(reversed(below))
            else:
                pending.extend(below)

    def below(self, top: str) -> Iterator[WalkedEntry]:
        """Yield every entry below a folder, without the folder itself. Each folder comes before its content."""
        for listing in self.folders(top, deep_first=True):
            for entry in listing.entries:
                if time.time() > self._deadline:
                    self.cut, self.cut_at = "time", listing.folder
                    return
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError as error:
                    self._record_error(listing.path(entry.name), error)
                else:
                    yield WalkedEntry(listing.path(entry.name), status)

    def _device_number(self, folder: str, follows_link: bool = False) -> int:
        """Return the number of a folder's file system; -1 if the folder cannot be read, which _list_folder records."""
        try:
            return os.stat(self._host.real(folder) or "/", follow_symlinks=follows_link).st_dev
        except OSError:
            return -1

    def _is_out_of_bounds(self, path: str, depth: int, device: int) -> bool:
        """Return True, and record the reason, if a folder is too deep or on another file system.

        depth: of the folder below the top of the tree. device: the number of the top folder's file system.
        """
        if self._mounts is None:
            self._mounts = set(list_mount_points())
        why = "too deep" if depth > self._depth else ""
        is_mount_point = self._host.root + path in self._mounts  # a bind mount has the same device number
        if is_mount_point or self._device_number(path) not in (device, -1):  # -1: _list_folder records why
            why = "another file system"
        if why:
            self.skipped.add(self._host.shown(path), why)
        return bool(why)

    def _list_folder(self, folder: str) -> FolderListing:
        """Return the entries of a folder, as many as the limit still allows; none if the folder cannot be read."""
        try:
            with os.scandir(self._host.real(folder) or "/") as scan:
                entries = list(itertools.islice(scan, self._entries_left + 1))
            if len(entries) > self._entries_left:
                self.cut, self.cut_at = "entries", folder
                entries = entries[: self._entries_left]
            self._entries_left -= len(entries)
            return FolderListing(folder, sorted(entries, key=lambda entry: entry.name))
        except OSError as error:
            self._record_error(folder, error)
            return FolderListing(folder, [])

    def _record_error(self, path: str, error: OSError) -> None:
        """Record a path that cannot be examined, unless there is no reason to record it."""
        why = self._find_reason(path, error)
        if why:
            self.skipped.add(self._host.shown(path), why)


def format_walked(number: int, noun: str, walk: Walk) -> str:
    """Return the number of files or folders that a walk found, for a message.

    The text is '12 files' after a complete walk, 'at least 12 files' after a walk that the limit of entries ended, and
    'files' after a walk that time ended, which would find another number the next time.
    """
    text = format_count(number, noun)
    return {"": text, "entries": "at least " + text, "time": noun + "s"}[walk.cut]
