# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose changes can be undone: former contents are kept in memory only."""

from typing import Callable, List, Optional

from .errors import AccountError
from .files import FileEntry
from .host import Host


class UndoableHost(Host):
    """Wraps a Host, real or for a dry run, and records how to undo each change."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.account, host.fingerprint_key, host.root)
        self.created_folders = host.created_folders
        self._host = host
        self._back: List[Callable[[], None]] = []

    # -- questions -----------------------------------------------------------------------------

    def entry(self, path: str) -> Optional[FileEntry]:
        """As Host's."""
        return self._host.entry(path)

    def lstat(self, path: str) -> Optional[FileEntry]:
        """As Host's."""
        return self._host.lstat(path)

    def open_above(self, path: str) -> str:
        """As Host's."""
        return self._host.open_above(path)

    def read(self, path: str) -> bytes:
        """As Host's."""
        return self._host.read(path)

    def names(self, folder: str) -> List[str]:
        """As Host's."""
        return self._host.names(folder)

    def has_acl(self, path: str) -> bool:
        """As Host's."""
        return self._host.has_acl(path)

    def forget_observations(self) -> None:
        """As Host's."""
        self._host.forget_observations()

    # -- changes -------------------------------------------------------------------------------

    def make_folder(
        self, path: str, mode: int, fill: Optional[Callable[[str], None]] = None, area: Optional[str] = None
    ) -> None:
        """As Host's; undone if the folder is empty by then."""
        self._host.make_folder(path, mode, fill, area)
        self._back.append(lambda: self._remove_if_empty(path))

    def _remove_if_empty(self, folder: str) -> None:
        if not self._host.names(folder):
            self._host.remove_folder(folder)

    def empty_and_remove(self, path: str, empty: Callable[[str], None]) -> None:
        """Refused: it could not be undone."""
        raise AccountError("%s: not removed, because removing a folder cannot be undone" % self.shown(path))

    def make_link(self, path: str, target: str) -> None:
        """Refused: keys are no links."""
        raise AccountError("%s: not created, because creating a link cannot be undone" % self.shown(path))

    def move(self, path: str, to: str) -> None:
        """As Host's."""
        self._host.move(path, to)
        self._back.append(lambda: self._host.move(to, path))

    def remove_folder(self, path: str) -> None:
        """Refused: it could not be undone."""
        raise AccountError("%s: not removed, because removing a folder cannot be undone" % self.shown(path))

    def start(self, path: str, detach: Callable[[int], None], pretend: Callable[[Host], None]) -> None:
        """Refused: it could not be undone."""
        raise AccountError("not started: a job in the background cannot be undone")

    def set_mode(self, path: str, mode: int) -> None:
        """As Host's."""
        found = self._host.entry(path)
        self._host.set_mode(path, mode)
        if found:
            self._back.append(lambda: self._host.set_mode(path, found.mode))

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        """As Host's."""
        found = self._host.entry(path)
        self._host.write(path, old, content, mode, private)
        if old is None or found is None:
            self._back.append(lambda: self._host.remove(path))
        else:
            before, was = old, found.mode
            self._back.append(lambda: self._host.write(path, content, before, was, private))

    def remove(self, path: str) -> None:
        """As Host's."""
        content, found = self._host.read(path), self._host.entry(path)
        self._host.remove(path)
        if found:
            self._back.append(lambda: self._host.write(path, None, content, found.mode, True))

    def undo(self) -> List[str]:
        """Undo all changes, the last one first; return an error for each one that failed."""
        problems = []
        for back in reversed(self._back):
            try:
                back()
            except AccountError as error:
                problems.append(str(error))
        self._back.clear()
        return problems
