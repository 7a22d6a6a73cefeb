# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The account in a dry run: every change stays in memory, and later questions see it.

So check mode runs the very loop that a real run does, and foresees that a link's folder, which
does not exist yet, will be there by then. No method of this class changes the account.
"""

import os
from typing import Dict, Optional, Tuple

from .errors import AccountError
from .host import Entry, Host


class DryHost(Host):
    """A Host whose changes are kept in a mapping from path to what would be there."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.account, host._fingerprint_key, host.root)
        self._changed: Dict[str, Optional[Tuple[Entry, bytes]]] = {}

    def entry(self, path: str) -> Optional[Entry]:
        if path in self._changed:
            changed = self._changed[path]
            return changed[0] if changed else None
        return super().entry(path)

    def read(self, path: str) -> bytes:
        changed = self._changed.get(path)
        return changed[1] if changed else super().read(path)

    def has_acl(self, path: str) -> bool:
        return path not in self._changed and super().has_acl(path)

    def make_folder(self, path: str, mode: int) -> None:
        self._needs_folder(path)
        self._put(path, "folder", mode)

    def make_link(self, path: str, target: str) -> None:
        self._needs_folder(path)
        self._put(path, "link", 0o777, target=target)

    def remove(self, path: str) -> None:
        self._changed[path] = None

    def set_mode(self, path: str, mode: int) -> None:
        found = self.entry(path)
        if found:
            self._put(path, found.kind, mode, self.read(path) if found.kind == "file" else b"")

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        self._needs_folder(path)
        if private:
            unsafe = self.unsafe_folder(os.path.dirname(path))
            if unsafe:
                raise AccountError(unsafe)
        self._put(path, "file", mode, content)

    def _put(self, path: str, kind: str, mode: int, content: bytes = b"", target: str = "") -> None:
        self._changed[path] = (Entry(kind, mode, True, False, 1, target), content)

    def _needs_folder(self, path: str) -> None:
        """Foresee what a real run would meet: no folder to write in, or one that may not be written."""
        folder = self.resolve(os.path.dirname(path)) or os.path.dirname(path)
        if folder in self._changed:
            return
        if self.kind_behind(folder) != "folder":
            raise AccountError("%s is not there" % self.shown(folder))
        if not os.access(self._real(folder) or "/", os.W_OK | os.X_OK):
            raise AccountError("writing %s: EACCES; you may not write in its folder" % self.shown(path))
