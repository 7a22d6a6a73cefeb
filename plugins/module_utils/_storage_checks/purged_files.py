# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the purge of a storage area has left of a folder, and which files the next purge will delete."""

import os
import stat
import time
from typing import Any, Dict

from .._scan.amounts import format_count
from .._scan.walk import WalkedEntry

DAYS_AHEAD = 7  # files are reported this long before their purge
DAY_SECONDS = 86400


class TreeCounts:
    """The numbers of folders, dead links and other entries in one folder of an area. The folder itself counts too."""

    def __init__(self) -> None:
        self._folders = self._dead = self._others = 0

    def add(self, entry: WalkedEntry, is_dead_link: bool) -> None:
        """Count an entry."""
        if stat.S_ISDIR(entry.status.st_mode):
            self._folders += 1
        elif is_dead_link:
            self._dead += 1
        else:
            self._others += 1

    def looks_purged(self) -> bool:
        """Return True if only folders and dead links are left."""
        is_single_folder = self._folders + self._dead <= 1  # it may never have contained files
        return not self._others and bool(self._folders) and not is_single_folder

    def describe(self) -> str:
        """Return the numbers for a message, such as '3 folders and 1 dead link'."""
        counts = [(self._folders, "folder"), (self._dead, "dead link")]
        return " and ".join(format_count(number, noun) for number, noun in counts if number)


class FilesDue:
    """The files of an area that its purge will delete soon.

    area: a dictionary with the days after which files are deleted, and with the clock (see last_use).
    """

    def __init__(self, area: Dict[str, Any]) -> None:
        self._days, self._clock = int(area["days"]), str(area["clock"])
        self._now = time.time()
        self._first = 0.0  # the earliest deadline, in seconds since the epoch; 0.0 without a file
        self.files = 0  # the number of these files

    def add(self, entry: WalkedEntry) -> None:
        """Count the entry if it is a file that the purge will delete within DAYS_AHEAD days."""
        if not stat.S_ISREG(entry.status.st_mode):
            return
        deadline = last_use(entry.status, self._clock) + self._days * DAY_SECONDS
        if deadline - self._now <= DAYS_AHEAD * DAY_SECONDS:
            self._first = min(deadline, self._first or deadline)
            self.files += 1

    def describe_first(self) -> str:
        """Return when the first file will be deleted: 'on' and a day in UTC, or 'at the next purge'."""
        if self._first <= self._now:
            return "at the next purge"
        return "on " + time.strftime("%Y-%m-%d", time.gmtime(self._first))


def last_use(status: os.stat_result, clock: str) -> float:
    """Return when a file was last used by the definition of the site's purge, in seconds since the epoch.

    clock: the definition from the profile. "atime" is the access time, "ctime_and_atime" the later of the two times,
    and "age" the time of the last write.
    """
    if clock == "atime":
        return status.st_atime
    if clock == "ctime_and_atime":
        return max(status.st_ctime, status.st_atime)
    return status.st_mtime
