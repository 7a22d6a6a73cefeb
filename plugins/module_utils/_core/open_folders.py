# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way to a thing: every folder on it opened once, component by component, and kept open.

In a storage area that a group shares, a colleague may rename anything at any moment, ours too, and lay a link or a
folder of his own under our name. So nothing is looked at or changed by a path: a look and the change that follows it
go through the same open folders. A link on the way is followed where it is the account's own or root's; a folder of
the account's that became another one since it was looked at is refused.
"""

import errno
import os
from typing import Callable, Dict, Optional, Tuple

from . import files
from .errors import AccountError, as_account_error
from .files import PASS, PATH

MOST = 60  # open folders; a login node allows some hundred to a process


class OpenFolders:
    """The open folders of one host. resolve: a path without links; real: raises FileSystemHangs."""

    def __init__(
        self,
        root: str,
        shown: Callable[[str], str],
        resolve: Callable[[str], Optional[str]],
        real: Callable[[str], str],
    ) -> None:
        self._root, self._shown, self._resolve, self._checked = root, shown, resolve, real
        self._open: Dict[str, int] = {}
        self._behind: Dict[str, str] = {}  # the paths without links of the open folders that are behind one
        self._seen: Dict[str, Tuple[int, int]] = {}  # the account's own folders, as they were looked at

    def folder(self, path: str) -> int:
        """The open folder at path, which stays the way's own; good for a name in it, not to be listed or flushed.

        Raises OSError, and AccountError where somebody else has a hand in it or the file system hangs.
        """
        found = self._open.get(path)
        if found is not None:
            return found
        if len(self._open) > MOST:
            self._close()
        return self._opened(path)

    def folder_of(self, path: str) -> int:
        """Return the open folder above path. Raises FileSystemHangs, too, if path is on a file system that hangs."""
        above, name = os.path.split(path)
        handle = self.folder(above)
        self._real(above, name)
        return handle

    def _real(self, above: str, name: str) -> str:
        """Return the path without links of a name in an open folder. Raises FileSystemHangs."""
        path = os.path.join(self._behind.get(above, above), name)
        self._checked(path)
        return path

    def _opened(self, path: str) -> int:
        if path not in self._open:
            self._open[path] = (
                self._entered(path) if path.strip("/") else os.open(self._root or "/", PATH | os.O_DIRECTORY)
            )
        return self._open[path]

    def _entered(self, path: str) -> int:
        above, name = os.path.split(path)
        folder = self._opened(above)
        place = self._real(above, name)
        try:
            handle = os.open(name, PASS, dir_fd=folder)
        except NotADirectoryError:
            real = self._resolve(path)
            if real is None or real == path:
                raise
            self._behind[path] = real
            return os.dup(self._opened(real))
        if place != path:
            self._behind[path] = place
        self._compare(path, os.fstat(handle))
        return handle

    def _compare(self, path: str, now: os.stat_result) -> None:
        if self._seen.get(path, (now.st_dev, now.st_ino)) != (now.st_dev, now.st_ino):
            raise AccountError("%s was changed for another folder meanwhile: run again" % self._shown(path))

    def saw(self, path: str, now: os.stat_result) -> None:
        """Remember a folder of the account's own that was looked at: none but this one is changed."""
        self._compare(path, now)
        self._seen[path] = (now.st_dev, now.st_ino)

    def forget(self) -> None:
        """Let go of all, for what is looked at next is to be as it is by then."""
        self._close()
        self._seen.clear()

    def _close(self) -> None:
        while self._open:
            _let_go(self._open.popitem()[1])
        self._behind.clear()

    def __del__(self) -> None:
        self._close()


class OpenHandle:
    """An open file or folder in which something is changed: closed afterwards, and an error says what was tried."""

    def __init__(self, handle: int, doing: str) -> None:
        self.handle, self._doing = handle, doing

    def close(self) -> None:
        """Let go of it."""
        _let_go(self.handle)

    def __enter__(self) -> int:
        return self.handle

    def __exit__(self, _kind: object, error: Optional[BaseException], _trace: object) -> None:
        self.close()
        if isinstance(error, OSError):
            raise as_account_error(error, self._doing) from None


def _let_go(handle: int) -> None:
    """Close what was only looked at, or is flushed: an error says nothing then, and there is nothing to be done."""
    try:
        os.close(handle)
    except OSError:
        pass


def remove_tree(folder: int, name: str) -> None:
    """Remove a folder of this user's with all that it holds: what was opened is emptied, then an empty one goes."""
    handle = files.open_folder(folder, name)
    try:
        if os.fstat(handle).st_uid != os.getuid():
            raise OSError(errno.EPERM, "")
        for _path, folders, names, inside in os.fwalk(".", False, _raise, dir_fd=handle):
            for one in folders:
                (os.unlink if files.is_link(inside, one) else os.rmdir)(one, dir_fd=inside)
            for one in names:
                os.unlink(one, dir_fd=inside)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=folder)
    files.flush(folder)


def _raise(error: OSError) -> None:
    raise error
