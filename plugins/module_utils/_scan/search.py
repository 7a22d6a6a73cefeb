# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A search through many files of an account, within limits of time and size.

A search reads only regular files that belong to the account: no file of another user, no pipe or device, and no file
outside of its areas, even if a link in an area points to the file. A search records what it skipped, so that a report
does not call these paths checked.
"""

import os
import stat
from typing import Callable, Iterable, Iterator, List, Optional, Tuple

from .._core.errors import AccountError, FileSystemHangs, errno_name
from .._core.files import READ, open_for_reading
from .._core.host import Host
from .._formats import key_files
from .filled_folders import find_edited_files, folders_to_enter, is_filled
from .text_file import read_text_file, to_utf_8, unescape_fish
from .walk import USUAL, FolderListing, Limits, Walk

LARGEST = 4 * 1024 * 1024  # bytes of one file
MOST_BYTES = 256 * 1024 * 1024  # of all texts of one search
FISH_VARIABLES = "fish_variables"  # the file in which fish stores universal variables
TOO_MUCH = "too many files, or the search took too long"
DENIED = "permission denied"
HANGS = "the file system does not respond"
GONE = ("ENOENT", "ELOOP", "ENXIO")  # errors if the file was removed, or replaced by a link or a socket


def expand_paths(host: Host, paths: Iterable[str]) -> Tuple[List[str], List[str]]:
    """Return (absolute paths, sentences). Each sentence is about a path that contains an unset variable of the site."""
    absolute, problems = [], []
    for path in paths:
        try:
            absolute.append(host.expand(path))
        except AccountError as error:
            problems.append("not checked: %s (%s)" % (path, error))
    return absolute, problems


def _name_reason(error: AccountError) -> str:
    """Return the reason to record for a path for which the host raised this error."""
    return HANGS if isinstance(error, FileSystemHangs) else DENIED


class Search:
    """A search for one check. areas: the folders that may be searched; links must point to a path in an area."""

    def __init__(self, host: Host, areas: List[str], limits: Limits = USUAL) -> None:
        self.host = host
        self._walk = Walk(host, limits, self._why_not_entered)
        self._areas = areas + [self.resolve(area) for area in areas]
        self._bytes_left = MOST_BYTES

    def skip(self, why: str, path: str) -> None:
        """Record a path that was not searched, and the reason."""
        self._walk.skipped.add(self.host.shown(path), why)

    def skipped(self) -> List[str]:
        """Return what was not searched and why, one sentence for each reason."""
        return self._walk.skipped.sentences()

    def is_complete(self) -> bool:
        """Return True if no limit of size or time has ended the search."""
        return all(why != TOO_MUCH for _path, why in self._walk.skipped.paths)

    # -- files ---------------------------------------------------------------------------------

    def resolve(self, path: str) -> str:
        """Return the path without links; the path itself if it is missing, or if a folder above is closed."""
        try:
            return self.host.resolve(path) or path
        except AccountError as error:
            self.skip(_name_reason(error), path)
            return path

    def resolve_file(self, path: str) -> Optional[str]:
        """Return the path without links of a regular file of the account in the areas; None for anything else."""
        try:
            real = self.host.resolve(path)
            entry = self.host.entry(real) if real else None
        except AccountError as error:
            self.skip(_name_reason(error), path)
            return None
        if real is None or entry is None or entry.kind != "file" or not entry.mine:
            return None
        return real if self.covers(real) else None

    def covers(self, real: str) -> bool:
        """Return True if a path without links is in the areas. The path need not exist."""
        return any(real == area or real.startswith(area.rstrip("/") + "/") for area in self._areas)

    def read_text(self, path: str, largest: int = LARGEST) -> str:
        """Return up to largest bytes of a file as latin-1; empty if the file is missing or must not be read."""
        real = self.resolve_file(path)
        if real is None:
            return ""
        content = self.read_bytes(real, largest + 1)
        if len(content) > largest:
            self.skip("only the first %d KiB were checked" % (largest // 1024), path)
        return content[:largest].decode("latin-1")

    def read_bytes(self, real: str, largest: int) -> bytes:
        """Return up to largest bytes of a regular file; empty for a link, or if the file cannot be read."""
        try:
            handle = open_for_reading(self.host.path_via_handle(real), READ)
            with os.fdopen(handle, "rb") as stream:
                is_regular = stat.S_ISREG(os.fstat(handle).st_mode)
                return stream.read(largest) if is_regular else b""
        except (AccountError, OSError):
            self.skip("permission denied, or the file was removed during the search", real)
            return b""

    # -- folders -------------------------------------------------------------------------------

    def is_own_folder(self, path: str) -> bool:
        """Return True if a path is a folder of the account, not a link. If the path is closed, record the reason."""
        try:
            entry = self.host.entry(path)
        except AccountError as error:
            self.skip(_name_reason(error), path)
            return False
        return entry is not None and entry.kind == "folder" and entry.mine

    def list_names(self, folder: str) -> List[str]:
        """Return the names in a folder; none if the folder is missing, outside of the areas or cannot be listed."""
        try:
            real = self.host.resolve(folder)
            return self.host.names(folder) if real and self.covers(real) else []
        except AccountError as error:
            self.skip(_name_reason(error), folder)
            return []

    def startup_files(self, names: Iterable[str] = key_files.START_UPS) -> List[str]:
        """Return the paths of the start-up files of every shell: of these names, and those that exist in folders."""
        home = self.host.home + "/"
        paths = [home + name for name in names]
        for folder, ending in key_files.START_UP_FOLDERS:
            paths += [home + folder + "/" + name for name in self.list_names(home + folder) if name.endswith(ending)]
        return paths

    def walk_tree(self, folder: str) -> Iterator[FolderListing]:
        """Yield the folders of a tree, level by level, sorted by name.

        For a folder that programs fill, the listing contains only the files in which users set variables.
        """
        for listing in self._walk.folders(folder):
            if self._walk.cut:  # the limit of entries ended this listing
                self.skip(TOO_MUCH, listing.folder)
            if is_filled(listing):
                listing.files = self._find_edited_files(listing)
                listing.folders = []  # the walk enters none of them
            else:
                listing.folders = folders_to_enter(listing)
            yield listing
        if self._walk.cut:  # the folders after this one were not listed
            self.skip(TOO_MUCH, self._walk.cut_at)

    def _find_edited_files(self, listing: FolderListing) -> List[str]:
        """Return the files of an environment in which users set variables; none if they cannot be listed."""
        try:
            return find_edited_files(listing, self.host)
        except AccountError as error:
            self.skip(_name_reason(error), listing.folder)
            return []

    def read_texts(self, folder: str, is_searched: Callable[[str], bool]) -> Iterator[Tuple[str, bytes]]:
        """Yield (path, content) of each text of the account in a tree.

        is_searched: a function that returns True for the names of the files to read.
        """
        for listing in self.walk_tree(folder):
            for name in filter(is_searched, listing.files):
                if self._walk.is_over() or self._bytes_left <= 0:
                    self.skip(TOO_MUCH, listing.folder)
                    return
                content = self._read_own_text(listing.path(name))
                if content:
                    yield listing.path(name), unescape_fish(content) if name == FISH_VARIABLES else content

    def _read_own_text(self, path: str) -> bytes:
        """Return up to LARGEST bytes of a text of the account; none if the file is not a text, or cannot be read."""
        try:
            content = read_text_file(self.host.real(path), LARGEST + 1)
        except AccountError:
            return b""  # the file system hangs, which the walk reports
        except OSError as error:
            name = errno_name(error)
            if name not in GONE and self._is_mine(path):
                self.skip(DENIED if name == "EACCES" else name, path)
            return b""
        self._bytes_left -= len(content)
        if len(content) > LARGEST:
            self.skip("only the first %d KiB were checked" % (LARGEST // 1024), path)
        return to_utf_8(content[:LARGEST])

    def _why_not_entered(self, path: str, error: OSError) -> str:
        """Return the reason to record for a folder that the walk could not enter; empty to record nothing.

        A folder that was removed, or that belongs to another user, is not recorded.
        """
        exists = errno_name(error) not in ("ENOENT", "ENOTDIR")
        is_of_account = path in self._areas or self._is_mine(path)
        return DENIED if exists and is_of_account else ""

    def _is_mine(self, path: str) -> bool:
        """Return True if the file or folder belongs to the account, or if its owner is unknown."""
        try:
            entry = self.host.entry(path)
        except AccountError:
            return True  # the file system hangs, and the reason must be recorded
        return entry is not None and entry.mine
