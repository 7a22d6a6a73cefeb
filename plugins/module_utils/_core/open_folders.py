# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders opened component by component and kept open, so that a path cannot change between check and use.

In a storage area that a group shares, another user may at any time rename a folder of the account and put a link or a
folder of his own in its place. So an inspection and the change that follows it use the same open folders, not paths. A
link is followed if it belongs to the account or root. A folder of the account that was replaced since its inspection is
refused.
"""

import errno
import os
from typing import Callable, Dict, List, Optional, Tuple

from . import files
from .errors import AccountError, as_account_error
from .files import PASS, PATH, FileEntry

MOST = 60  # open folders; a login node allows a process some hundred


class OpenFolders:
    """The open folders of one host. resolve: see Host.resolve; real: raises FileSystemHangs for a path that hangs."""

    def __init__(
        self,
        root: str,
        shown: Callable[[str], str],
        resolve: Callable[[str], Optional[str]],
        real: Callable[[str], str],
    ) -> None:
        self._root, self._shown, self._resolve, self._checked = root, shown, resolve, real
        self._open: Dict[str, int] = {}
        self._behind: Dict[str, str] = {}  # open folder -> its path without links, if that differs
        self._seen: Dict[str, Tuple[int, int]] = {}  # device and inode of the account's own folders, as inspected

    def folder(self, path: str) -> int:
        """Return the open folder at a path, for calls with dir_fd; do not close it. It cannot be listed or flushed.

        Raise OSError, and AccountError if the folder was replaced or its file system hangs.
        """
        if path not in self._open and len(self._open) > MOST:
            self._close()
        return self._open_all(path)

    def folder_of(self, path: str) -> int:
        """Return the open folder above a path. Raise FileSystemHangs if the path's own file system hangs."""
        above, name = os.path.split(path)
        handle = self.folder(above)
        self._real(above, name)
        return handle

    def without_links(self, path: str) -> str:
        """Return the path of the open folder next above a path, if it was opened without a link on its way; else ""."""
        while path:
            path = path.rpartition("/")[0]
            if path in self._open and path not in self._behind:
                return path
        return ""

    def _real(self, above: str, name: str) -> str:
        """Return the path without links of a name in an open folder. Raise FileSystemHangs."""
        path = os.path.join(self._behind.get(above, above), name)
        self._checked(path)
        return path

    def _open_all(self, path: str) -> int:
        """Open a folder and all above it that are not open yet."""
        if path not in self._open:
            is_top = not path.strip("/")
            self._open[path] = os.open(self._root or "/", PATH | os.O_DIRECTORY) if is_top else self._open_one(path)
        return self._open[path]

    def _open_one(self, path: str) -> int:
        """Open one folder in its open parent. If it is a link that may be followed, open its target."""
        above, name = os.path.split(path)
        folder = self._open_all(above)
        place = self._real(above, name)
        try:
            handle = os.open(name, PASS, dir_fd=folder)
        except NotADirectoryError:
            real = self._resolve(path)
            if real is None or real == path:
                raise
            self._behind[path] = real
            return os.dup(self._open_all(real))
        if place != path:
            self._behind[path] = place
        self._compare(path, os.fstat(handle))
        return handle

    def _compare(self, path: str, now: os.stat_result) -> None:
        """Raise AccountError if a folder has another identity than when it was inspected."""
        if self._seen.get(path, (now.st_dev, now.st_ino)) != (now.st_dev, now.st_ino):
            raise AccountError("%s was replaced by another folder; run again" % self._shown(path))

    def remember(self, path: str, now: os.stat_result) -> None:
        """Remember a folder of the account that was inspected: a replaced one is refused from now on."""
        self._compare(path, now)
        self._seen[path] = (now.st_dev, now.st_ino)

    def forget(self) -> None:
        """Close all folders and forget what was inspected."""
        self._close()
        self._seen.clear()

    def _close(self) -> None:
        while self._open:
            _close_quietly(self._open.popitem()[1])
        self._behind.clear()

    def __del__(self) -> None:
        self._close()


class OpenHandle:
    """A context manager for an open file or folder: closes it, and turns OSError into an AccountError."""

    def __init__(self, handle: int, doing: str) -> None:
        self.handle, self._doing = handle, doing

    def close(self) -> None:
        """Close it without an error."""
        _close_quietly(self.handle)

    def __enter__(self) -> int:
        return self.handle

    def __exit__(self, _kind: object, error: Optional[BaseException], _trace: object) -> None:
        self.close()
        if isinstance(error, OSError):
            raise as_account_error(error, self._doing) from None


def _close_quietly(handle: int) -> None:
    """Close what was only read, or is flushed already: an error means nothing then."""
    try:
        os.close(handle)
    except OSError:
        pass


def find_unsafe(
    parts: List[str], entry: Callable[[str], Optional[FileEntry]], shown: Callable[[str], str]
) -> Optional[str]:
    """Return why no secret may be stored in the folder with these components, or None."""
    done = ""
    for part in parts:
        done += "/" + part
        found = entry(done)
        if found is None:
            return None
        unsafe = files.why_unsafe(found, shown(done))
        if unsafe:
            return unsafe
    return None


def move_entry(above: int, name: str, folder: int, new: str) -> bool:
    """Move what has a name in one open folder to a free name in another; False if that is taken."""
    if not files.is_free(folder, new):
        return False
    os.rename(name, new, src_dir_fd=above, dst_dir_fd=folder)
    files.flush(folder)
    files.flush(above)
    return True


def remove_tree(folder: int, name: str) -> None:
    """Remove a folder of this user and its content; what was opened is emptied, then the empty folder is removed."""
    handle = files.open_folder(folder, name)
    try:
        if os.fstat(handle).st_uid != os.getuid():
            raise OSError(errno.EPERM, "")
        for _path, folders, names, inside in os.fwalk(".", False, _raise, dir_fd=handle):
            for child in folders:
                (os.unlink if files.is_link(inside, child) else os.rmdir)(child, dir_fd=inside)
            for child in names:
                os.unlink(child, dir_fd=inside)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=folder)
    files.flush(folder)


def _raise(error: OSError) -> None:
    raise error
