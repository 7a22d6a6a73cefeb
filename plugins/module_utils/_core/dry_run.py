# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The account in a dry run: every change stays in memory, and later questions see it.

So check mode runs the very loop that a real run does, and foresees that a link's folder, which
does not exist yet, will be there by then. No method of this class changes the account.
"""

import errno
import os
from typing import Callable, Dict, List, Optional, Tuple

from .errors import AccountError, as_account_error
from .files import FileEntry
from .host import Host


class DryRunHost(Host):
    """A Host whose changes are kept in a mapping from path to what would be there.

    A path is kept as the one without links on its way, for the same folder has many names.
    """

    def __init__(self, host: Host) -> None:
        super().__init__(host.account, host.fingerprint_key, host.root)
        self._changed: Dict[str, Optional[Tuple[FileEntry, bytes]]] = {}
        self._removed: List[str] = []
        self.receipt_copy = host.receipt_copy

    def _place(self, path: str) -> str:
        folder, name = os.path.split(path)
        return os.path.join(self.resolve(folder) or folder, name)

    def lstat(self, path: str) -> Optional[FileEntry]:
        if path in self._changed:
            changed = self._changed[path]
            return changed[0] if changed else None
        return None if self._is_gone(path) else super().lstat(path)

    def _is_gone(self, path: str) -> bool:
        """Whether it, or a folder above it, would have been removed, whatever is there anew."""
        return any(path == one or path.startswith(one + "/") for one in self._removed)

    def entry(self, path: str) -> Optional[FileEntry]:
        return self.lstat(self._place(path))

    def read(self, path: str) -> bytes:
        place = self._place(path)
        changed = self._changed.get(place)
        return changed[1] if changed else super().read(place)

    def names(self, folder: str) -> List[str]:
        place = self.resolve(folder) or folder
        found = None if self._is_gone(place) else super().lstat(place)
        is_real = found is not None and found.kind == "folder"
        names = set(super().names(folder)) if is_real else set()
        for path, changed in self._changed.items():
            if os.path.dirname(path) == place:
                (names.add if changed else names.discard)(os.path.basename(path))
        return sorted(names)

    def has_acl(self, path: str) -> bool:
        return self._place(path) not in self._changed and super().has_acl(path)

    def make_folder(
        self, path: str, mode: int, fill: Optional[Callable[[str], None]] = None, area: Optional[str] = None
    ) -> None:
        self._needs_folder(path, "making the folder ")
        self._put(path, "folder", mode)
        self.created_folders.append(path)
        if fill:
            fill(path)

    def empty_and_remove(self, path: str, empty: Callable[[str], None]) -> None:
        empty(path)
        self.remove(path)

    def make_link(self, path: str, target: str) -> None:
        self._needs_folder(path, "making the link ")
        self._put(path, "link", 0o777, target=target)

    def remove(self, path: str) -> None:
        self._needs_folder(path, "removing ")
        self._changed[self._place(path)] = None
        self._removed.append(self._place(path))

    def remove_folder(self, path: str) -> None:
        self.remove(path)

    def start(self, path: str, detach: Callable[[int], None], pretend: Callable[[Host], None]) -> None:
        pretend(self)

    def set_mode(self, path: str, mode: int) -> None:
        found = self.entry(path)
        if found:
            self._put(path, found.kind, mode, self.read(path) if found.kind == "file" else b"")

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        if private:
            unsafe = self.unsafe_folder(os.path.dirname(path))
            if unsafe:
                raise AccountError(unsafe)
        self._needs_folder(path, "writing ")
        self._put(path, "file", mode, content)

    def _put(self, path: str, kind: str, mode: int, content: bytes = b"", target: str = "") -> None:
        self._changed[self._place(path)] = (FileEntry(kind, mode, True, False, 1, target), content)

    def _needs_folder(self, path: str, doing: str) -> None:
        """Foresee what a real run would meet: no folder to write in, or one that may not be written."""
        folder = self.resolve(os.path.dirname(path)) or os.path.dirname(path)
        if folder in self._changed:
            return
        if self.resolved_kind(folder) != "folder":
            raise AccountError("%s is not there" % self.shown(folder))
        if not os.access(self.path_via_handle(folder), os.W_OK | os.X_OK):
            raise as_account_error(PermissionError(errno.EACCES, ""), doing + self.shown(path))
