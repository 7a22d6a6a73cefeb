# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A look through many files of an account that reads plain files of its own only, within limits.

No link is followed out of the places that the look is for, no pipe or device is opened, nobody else's file is
read. What was left out is said, so that nothing counts as looked at that was not.
"""

import os
import stat
from typing import Callable, Iterable, Iterator, List, Optional, Tuple

from .._core.errors import AccountError, errno_name
from .._core.files import READ, open_for_reading
from .._core.host import Host
from .._formats import key_files
from .walk import USUAL, Limits, Listed, Walk

LARGEST = 4 * 1024 * 1024
TOO_MUCH = "too many files for one look, or it took too long"


def expanded(host: Host, paths: Iterable[str]) -> Tuple[List[str], List[str]]:
    """The absolute paths, and why some cannot be told: a variable of the site is not set, say."""
    told, problems = [], []
    for path in paths:
        try:
            told.append(host.expand(path))
        except AccountError as error:
            problems.append("not looked at: %s (%s)" % (path, error))
    return told, problems


class Search:
    """One look. areas: the folders that it is for; links are followed as long as they stay in them."""

    def __init__(self, host: Host, areas: List[str], limits: Limits = USUAL) -> None:
        self.host = host
        self._areas = areas + [host.resolve(area) or area for area in areas]
        self._walk = Walk(host, limits, self._not_entered)

    # -- what was left out ---------------------------------------------------------------------

    def leave_out(self, why: str, path: str) -> None:
        """Remember that a path was not looked at."""
        self._walk.left_out.add(self.host.shown(path), why)

    def left_out(self) -> List[str]:
        """What was not looked at and why, one sentence for each reason."""
        return self._walk.left_out.sentences()

    # -- files ---------------------------------------------------------------------------------

    def file(self, path: str) -> Optional[str]:
        """The plain file of the account that is found at path, which may be a link within the areas; else None."""
        try:
            real = self.host.resolve(path)
            found = self.host.entry(real) if real else None
        except AccountError:
            self.leave_out("not permitted", path)
            return None
        if real is None or found is None or found.kind != "file" or not found.mine:
            return None
        return real if self.holds(real) else None

    def holds(self, real: str) -> bool:
        """Whether a path lies in the areas, by its name: whoever reads must have followed its links before."""
        return any(real == area or real.startswith(area.rstrip("/") + "/") for area in self._areas)

    def text(self, path: str, largest: int = LARGEST) -> str:
        """The content as latin-1, of a file that is larger the beginning; empty where there is nothing to read."""
        real = self.file(path)
        if real is None:
            return ""
        content = self.bytes(real, largest + 1)
        if len(content) > largest:
            self.leave_out("what is behind the first %d KiB" % (largest // 1024), path)
        return content[:largest].decode("latin-1")

    def bytes(self, real: str, largest: int) -> bytes:
        """At most so many bytes of a plain file; a link is not followed."""
        try:
            handle = open_for_reading(self.host.path_via_handle(real), READ)
            with os.fdopen(handle, "rb") as stream:
                return stream.read(largest) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
        except (AccountError, OSError):
            self.leave_out("not permitted, or gone meanwhile", real)
            return b""

    # -- folders -------------------------------------------------------------------------------

    def names(self, folder: str) -> List[str]:
        """The names in a folder; none where there is no such folder in the areas, or it may not be listed."""
        try:
            real = self.host.resolve(folder)
            return self.host.names(folder) if real and self.holds(real) else []
        except AccountError:
            self.leave_out("not permitted", folder)
            return []

    def start_ups(self) -> List[str]:
        """The start-up files that the home may have, of every shell, whether they are there or not."""
        home = self.host.home + "/"
        paths = [home + name for name in key_files.START_UPS]
        for folder, end in key_files.START_UP_FOLDERS:
            paths += [home + folder + "/" + name for name in self.names(home + folder) if name.endswith(end)]
        return paths

    def tree(self, folder: str, dull: Callable[[str], bool]) -> Iterator[Listed]:
        """The folders of a tree with the files in each, level by level, in order; no link is followed.

        dull: whether a folder of this name is not gone into.
        """
        for listed in self._walk.folders(folder):
            if self._walk.cut:
                self.leave_out(TOO_MUCH, listed.folder)
            if "conda-meta" in listed.folders or "pyvenv.cfg" in listed.files:
                listed.folders = []  # an environment: what is in it was not written by hand
                continue
            listed.folders = [name for name in listed.folders if not dull(name)]
            yield listed
        if self._walk.cut:
            self.leave_out(TOO_MUCH, self._walk.cut_at)

    def is_over(self) -> bool:
        """Whether the look has taken as long, or seen as much, as it may."""
        return self._walk.is_over()

    def _not_entered(self, path: str, error: OSError) -> str:
        """Why a folder is left out; a colleague's own folder is not this account's to look at."""
        there = errno_name(error) not in ("ENOENT", "ENOTDIR")
        return "not permitted" if there and (path in self._areas or self._is_mine(path)) else ""

    def _is_mine(self, path: str) -> bool:
        try:
            found = self.host.entry(path)
        except AccountError:
            return True  # nobody can tell
        return found is not None and found.mine
