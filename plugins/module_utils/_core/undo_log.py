# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose changes can be undone: if a rotation's test of a new key fails, the old key is restored.

A rotation is the replacement of a key. The former contents of files are kept in memory only. A host is the
interface to an account's file system.
"""

from typing import Callable, List, Optional

from .errors import AccountError
from .files import FileEntry
from .host import Host


class UndoableHost(Host):
    """A wrapper around a Host, real or for a dry run, that records how to undo each change.

    Methods without a docstring are those of Host. Changes that cannot be undone raise AccountError.
    """

    def __init__(self, host: Host) -> None:
        super().__init__(host.account, host.fingerprint_key, host.root)
        self.created_folders = host.created_folders  # the wrapped host adds to this list
        self._host = host
        self._undo_steps: List[Callable[[], None]] = []

    # -- reading: as the host that this class wraps

    def entry(self, path: str) -> Optional[FileEntry]:
        return self._host.entry(path)

    def lstat(self, path: str) -> Optional[FileEntry]:
        return self._host.lstat(path)

    def nearest_open_folder(self, path: str) -> str:
        return self._host.nearest_open_folder(path)

    def read(self, path: str) -> bytes:
        return self._host.read(path)

    def names(self, folder: str) -> List[str]:
        return self._host.names(folder)

    def has_acl(self, path: str) -> bool:
        return self._host.has_acl(path)

    def forget_observations(self) -> None:
        self._host.forget_observations()

    # -- changes

    def make_folder(
        self, path: str, mode: int, fill: Optional[Callable[[str], None]] = None, area: Optional[str] = None
    ) -> None:
        """Create a folder as Host does. Undoing removes the folder only if it is empty."""
        self._host.make_folder(path, mode, fill, area)
        self._undo_steps.append(lambda: self._remove_if_empty(path))

    def _remove_if_empty(self, folder: str) -> None:
        """Remove a folder, unless another program has created a file in the folder since."""
        if not self._host.names(folder):
            self._host.remove_folder(folder)

    def empty_and_remove(self, path: str, empty: Callable[[str], None]) -> None:
        """Raise AccountError: this change cannot be undone, so empty is not called."""
        raise AccountError("%s was not removed, because removing a folder cannot be undone" % self.shown(path))

    def make_link(self, path: str, target: str) -> None:
        raise AccountError("%s was not created, because creating a link cannot be undone" % self.shown(path))

    def move(self, path: str, new_path: str) -> None:
        """Move a file or folder; undo moves it back."""
        self._host.move(path, new_path)
        self._undo_steps.append(lambda: self._host.move(new_path, path))

    def remove_folder(self, path: str) -> None:
        raise AccountError("%s was not removed, because removing a folder cannot be undone" % self.shown(path))

    def start_job(self, path: str, detach: Callable[[int], None], pretend: Callable[[Host], None]) -> None:
        """Raise AccountError: a job cannot be undone, so it is neither started by detach nor simulated by pretend."""
        raise AccountError("the job was not started, because a background job cannot be undone")

    def set_mode(self, path: str, mode: int) -> None:
        """Change a mode; undo restores the former one."""
        found = self._host.entry(path)
        self._host.set_mode(path, mode)
        if found:
            self._undo_steps.append(lambda: self._host.set_mode(path, found.mode))

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        """Write a file; undo restores its former content and mode, or removes a new file."""
        found = self._host.entry(path)
        self._host.write(path, old, content, mode, private)
        if old is None or found is None:  # the file is new
            self._undo_steps.append(lambda: self._host.remove(path))
        else:
            self._undo_steps.append(
                lambda: self._host.write(path, old=content, content=old, mode=found.mode, private=private)
            )

    def remove(self, path: str) -> None:
        """Remove a file; undo writes it again."""
        content, found = self._host.read(path), self._host.entry(path)
        self._host.remove(path)
        if found:
            # private, because the file may contain a key
            self._undo_steps.append(
                lambda: self._host.write(path, old=None, content=content, mode=found.mode, private=True)
            )

    def undo(self) -> List[str]:
        """Undo all changes, the last change first; return the error messages of changes that could not be undone."""
        problems = []
        for undo_step in reversed(self._undo_steps):
            try:
                undo_step()
            except AccountError as error:
                problems.append(str(error))
        self._undo_steps.clear()
        return problems
