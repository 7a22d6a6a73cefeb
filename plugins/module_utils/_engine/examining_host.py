# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host for passes that change nothing. Resources and checks ask for the same few paths again and again."""

from typing import Dict, Optional

from .._core.files import FileEntry
from .._core.host import Host


class ExaminingHost(Host):
    """A Host that looks at each path only once for each resource: ResourceRun forgets the observations between two."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.account, host.fingerprint_key, host.root)
        self.is_following, self.receipt_copy = host.is_following, host.receipt_copy
        self._entries: Dict[str, Optional[FileEntry]] = {}

    def lstat(self, path: str) -> Optional[FileEntry]:
        """Return the entry that was at a path when the path was first looked at, or None."""
        if path not in self._entries:
            self._entries[path] = super().lstat(path)
        return self._entries[path]

    def forget_observations(self) -> None:
        """Forget the entries, and what Host forgets."""
        self._entries.clear()
        super().forget_observations()
