# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host for dry runs: changes stay in memory, and later reads return them.

So check mode runs the same code as a real run: when a link is examined, the folder that it needs exists already, in
memory. No method here changes the account.
"""

import errno
import os
from typing import Callable, Dict, List, Optional, Tuple

from .errors import AccountError, as_account_error
from .files import FileEntry
from .host import OTHER_USER, Host
from .open_folders import is_of_other_user


class DryRunHost(Host):
    """A Host that records changes by path: the new entry and content, or None for a path that would be removed.

    Links in a path's parent folders are resolved first, since a folder may have several paths. Parameters that a method
    does not explain are those of Host.
    """

    def __init__(self, host: Host) -> None:
        """Start without changes. host: the host of the real account or of a sandbox."""
        super().__init__(host.account, host.fingerprint_key, host.root)
        self._changed: Dict[str, Optional[Tuple[FileEntry, bytes]]] = {}
        self._removed: List[str] = []  # paths whose content on the disk is hidden, also below a new folder
        self.receipt_copy = host.receipt_copy  # the receipt's notes as the user's machine has them

    def _resolve_parent(self, path: str) -> str:
        """Return a path with the links in its parent folders resolved; such paths are the keys of _changed."""
        folder, name = os.path.split(path)
        return os.path.join(self.resolve(folder) or folder, name)

    def lstat(self, path: str) -> Optional[FileEntry]:
        """Return the entry that would be at a path, from the simulated changes or the disk, or None.

        path: without links in its folders; entry() also accepts paths with links.
        """
        if path in self._changed:
            changed = self._changed[path]
            return changed[0] if changed else None
        return None if self._is_removed(path) else super().lstat(path)

    def nearest_open_folder(self, path: str) -> str:
        """Return "", which means none: a simulated change may have replaced an open folder. path: not used."""
        return ""

    def _is_removed(self, path: str) -> bool:
        """Return True if a path, or a folder above it, would have been removed."""
        return any(path == removed or path.startswith(removed + "/") for removed in self._removed)

    def entry(self, path: str) -> Optional[FileEntry]:
        """Return the entry that would be at a path, or None; a link is not followed."""
        return self.lstat(self._resolve_parent(path))

    def read(self, path: str) -> bytes:
        """Return the content that the file would have: the simulated one, else that on the disk, even if removed."""
        resolved = self._resolve_parent(path)
        changed = self._changed.get(resolved)
        return changed[1] if changed else super().read(resolved)

    def names(self, folder: str) -> List[str]:
        """Return the names that the folder would contain, sorted."""
        resolved = self.resolve(folder) or folder
        on_disk = None if self._is_removed(resolved) else super().lstat(resolved)
        names = set(super().names(resolved)) if on_disk and on_disk.kind == "folder" else set()
        in_folder = {path: changed for path, changed in self._changed.items() if os.path.dirname(path) == resolved}
        names.update(os.path.basename(path) for path, changed in in_folder.items() if changed)
        names.difference_update(os.path.basename(path) for path, changed in in_folder.items() if not changed)
        return sorted(names)

    def has_acl(self, path: str) -> bool:
        """Return True if the file would have an access list (ACL): a file that was rewritten has none."""
        return self._resolve_parent(path) not in self._changed and super().has_acl(path)

    def make_folder(
        self, path: str, mode: int, fill: Optional[Callable[[str], None]] = None, area: Optional[str] = None
    ) -> None:
        """Record a new folder; fill, called with its path, then records its content."""
        self._check_parent(path, "creating the folder ", area)
        self._record(path, "folder", mode)
        self.created_folders.append(path)
        if fill:
            fill(path)

    def empty_and_remove(self, path: str, empty: Callable[[str], None]) -> None:
        """Record the removal of a folder and of its content, which empty, called with the folder's path, removes."""
        empty(path)
        self.remove(path)

    def make_link(self, path: str, target: str) -> None:
        """Record a new link."""
        self._check_parent(path, "creating the link ")
        self._record(path, "link", 0o777, target=target)

    def move(self, path: str, new_path: str) -> None:
        """Record the move of a file, link or folder. A missing path is ignored; a folder's content is not recorded."""
        found = self.entry(path)
        content = self.read(path) if found and found.kind == "file" else b""
        self.remove(path)  # also checks that the folder above the path is writable
        if found:
            self._record(new_path, found.kind, found.mode, content, found.target)

    def remove(self, path: str) -> None:
        """Record the removal of a file, link or folder."""
        found = self.entry(path)
        is_own_folder = found is not None and found.kind == "folder" and found.mine
        self._check_parent(path, "removing ", area=os.path.dirname(path) if is_own_folder else None)
        self._changed[self._resolve_parent(path)] = None
        self._removed.append(self._resolve_parent(path))

    def remove_folder(self, path: str) -> None:
        """Record the removal of a folder with its content."""
        self.remove(path)

    def start_job(self, path: str, detach: Callable[[int], None], pretend: Callable[[Host], None]) -> None:
        """Simulate the job by calling pretend. No process is started, so path and detach are not used."""
        pretend(self)

    def set_mode(self, path: str, mode: int) -> None:
        """Record the new mode of an existing file or folder."""
        found = self.entry(path)
        if found:
            self._record(path, found.kind, mode, self.read(path) if found.kind == "file" else b"")

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        """Record the content and mode of a file; old is not used.

        private: raise AccountError, as a real run does, if others can change the folder.
        """
        if private:
            unsafe = self.why_unsafe_folder(os.path.dirname(path))
            if unsafe:
                raise AccountError(unsafe)
        self._check_parent(path, "writing ")
        self._record(path, "file", mode, content)

    def _record(self, path: str, kind: str, mode: int, content: bytes = b"", target: str = "") -> None:
        """Record the entry that would be at a path, owned by this account, and the content of a file."""
        entry = FileEntry(kind, mode, mine=True, is_roots=False, links=1, target=target)
        self._changed[self._resolve_parent(path)] = (entry, content)

    def _check_parent(self, path: str, doing: str, area: Optional[str] = None) -> None:
        """Raise AccountError, as a real run would, if no folder is above a path or the folder must not be changed.

        doing: the start of the message, such as "writing ". area: see Host.open_parent.
        """
        folder = self.resolve(os.path.dirname(path)) or os.path.dirname(path)
        found = self.resolved_entry(folder)
        if found is None or found.kind != "folder":
            raise AccountError("%s does not exist" % self.shown(folder))
        if is_of_other_user(found, os.path.dirname(path), area):
            raise AccountError(OTHER_USER % self.shown(os.path.dirname(path)))
        is_simulated = folder in self._changed  # then the account could write to the folder
        if not is_simulated and not os.access(self.path_via_handle(folder), os.W_OK | os.X_OK):
            raise as_account_error(PermissionError(errno.EACCES, ""), doing + self.shown(path))
