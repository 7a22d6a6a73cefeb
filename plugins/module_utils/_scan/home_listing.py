# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out which of many known files exist in the home directory, by listing each folder once.

Checking each file would be slower: the tables of known files have hundreds of entries, and an account has few of them.
"""

import os
from typing import Dict, Iterable, List, Set

from .._core.errors import AccountError
from .._core.host import Host


class HomeListing:
    """The names in the folders of the home directory. Each folder is listed once, when it is first needed."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._names_by_folder: Dict[str, Set[str]] = {}

    def select(self, paths: Iterable[str]) -> List[str]:
        """Return the paths below the home directory that exist, or that may exist in a folder that cannot be listed."""
        return [path for path in paths if self._may_exist(path)]

    def _may_exist(self, path: str) -> bool:
        """Return False if a folder on the way to the path, or the path itself, does not exist."""
        folder, name = os.path.split(path)
        if folder and not self._may_exist(folder):
            return False
        if folder not in self._names_by_folder:
            try:
                names = self._host.names(os.path.join(self._host.home, folder).rstrip("/"))
            except AccountError:
                return True  # the caller reports why the file cannot be examined
            self._names_by_folder[folder] = set(names)
        return name in self._names_by_folder[folder]
