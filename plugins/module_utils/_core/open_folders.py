# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders opened component by component and kept open, so that a path cannot change between check and use.

In a storage area that a group shares, another user may at any time rename a folder of the account and put a link or
another folder in its place. So an inspection and the change that follows it use the same open folders, not paths. A
link is followed if it belongs to the account or root. A folder of the account that was replaced since its inspection
causes an AccountError. A sandbox is a folder that simulates an account.
"""

import errno
import os
from typing import Callable, Dict, List, Optional, Tuple

from . import files
from .errors import AccountError, as_account_error
from .files import PASS, PATH, FileEntry

MOST_OPEN = 60  # folders; a login node may limit a process to a few hundred open files


class OpenFolders:
    """The open folders of one host, by path.

    root: the folder that a sandbox uses as /, or "". shown, resolve, real: the methods of Host, which return a path for
    messages, a path without links, and a path for system calls. real is called only because it raises FileSystemHangs.
    """

    def __init__(
        self,
        root: str,
        shown: Callable[[str], str],
        resolve: Callable[[str], Optional[str]],
        real: Callable[[str], str],
    ) -> None:
        self._root, self._shown, self._resolve = root, shown, resolve
        self._raise_if_hanging = real
        self._open: Dict[str, int] = {}
        self._real_paths: Dict[str, str] = {}  # path of an open folder -> its path without links, if that differs
        self._identities: Dict[str, Tuple[int, int]] = {}  # device and inode of inspected folders

    def handle(self, path: str) -> int:
        """Return the handle of the folder at a path, for use as dir_fd. The caller must not close the handle.

        The handle (O_PATH) cannot be used to list or flush the folder. Raise OSError if the folder cannot be opened,
        and AccountError if the folder was replaced or its file system hangs.
        """
        if path not in self._open and len(self._open) > MOST_OPEN:
            self._close()  # folders are opened again when needed
        return self._open_all(path)

    def parent_handle(self, path: str) -> int:
        """Return the handle of the folder above a path. Raise FileSystemHangs if the path's own file system hangs."""
        above, _slash, name = path.rpartition("/")
        above = above.rstrip("/")
        handle = self.handle(above)
        self._real_path(above, name)  # raises FileSystemHangs
        return handle

    def nearest_without_links(self, path: str) -> str:
        """Return the nearest folder above a path that is open and was reached without a link, or ""."""
        while path:
            path = path.rpartition("/")[0]
            if path in self._open and path not in self._real_paths:
                return path
        return ""

    def _real_path(self, above: str, name: str) -> str:
        """Return the path, without links, of a name in an open folder. Raise FileSystemHangs if the path hangs."""
        path = "%s/%s" % (self._real_paths.get(above, above).rstrip("/"), name)
        self._raise_if_hanging(path)
        return path

    def _open_all(self, path: str) -> int:
        """Open all folders on a path that are not open yet, and return the handle of the last one."""
        if path not in self._open:
            if path.strip("/"):
                self._open[path] = self._open_in_parent(path)
            else:  # the path is "/"
                self._open[path] = os.open(self._root or "/", PATH | os.O_DIRECTORY)
        return self._open[path]

    def _open_in_parent(self, path: str) -> int:
        """Open a folder through the handle of its parent, and return a handle. A link is followed to its target.

        Raise NotADirectoryError for a file, and for a link that must not be followed.
        """
        above, name = os.path.split(path)
        parent = self._open_all(above)
        real = self._real_path(above, name)
        try:
            handle = os.open(name, PASS, dir_fd=parent)
        except NotADirectoryError:
            target = self._resolve(path)
            if target is None or target == path:  # a file, a loop, or a link of another user
                raise
            self._real_paths[path] = target
            return os.dup(self._open_all(target))  # two handles, because _close() closes one for each path
        if real != path:  # a folder above is a link
            self._real_paths[path] = real
        self._check_identity(path, os.fstat(handle))
        return handle

    def _check_identity(self, path: str, status: os.stat_result) -> None:
        """Raise AccountError if the folder at a path is not the one that was inspected there before."""
        identity = (status.st_dev, status.st_ino)
        if self._identities.get(path, identity) != identity:
            raise AccountError("%s was replaced by another folder; run hpc-onboard again" % self._shown(path))

    def remember(self, path: str, status: os.stat_result) -> None:
        """Remember the identity of an inspected folder. Raise AccountError if the path had another folder before."""
        self._check_identity(path, status)
        self._identities[path] = (status.st_dev, status.st_ino)

    def forget(self) -> None:
        """Close all folders and forget their identities."""
        self._close()
        self._identities.clear()

    def _close(self) -> None:
        """Close all folders, but remember their identities."""
        while self._open:
            _close_quietly(self._open.popitem()[1])
        self._real_paths.clear()

    def __del__(self) -> None:
        self._close()


class OpenHandle:
    """A context manager that closes a file or folder and turns OSError into AccountError (see as_account_error)."""

    def __init__(self, handle: int, doing: str) -> None:
        """Store the open handle. doing: the action for the error message, such as "writing ~/.netrc"."""
        self.handle, self._doing = handle, doing

    def close(self) -> None:
        """Close the file or folder; an error is ignored."""
        _close_quietly(self.handle)

    def __enter__(self) -> int:
        return self.handle

    def __exit__(self, _kind: object, error: Optional[BaseException], _trace: object) -> None:
        self.close()
        if isinstance(error, OSError):
            raise as_account_error(error, self._doing) from None


def _close_quietly(handle: int) -> None:
    """Close a file or folder that was only read, or is flushed already, so that an error has no consequence."""
    try:
        os.close(handle)
    except OSError:
        pass


def why_path_unsafe(
    parts: List[str], entry: Callable[[str], Optional[FileEntry]], shown: Callable[[str], str]
) -> Optional[str]:
    """Return why no secret may be stored in a folder, or None. parts: the components of the folder's path.

    entry, shown: the methods of Host, which return the file, folder or link at a path, and the path for messages.
    """
    path = ""
    for part in parts:
        path += "/" + part
        found = entry(path)
        if found is None:  # the rest does not exist yet
            return None
        unsafe = files.why_unsafe(found, shown(path))
        if unsafe:
            return unsafe
    return None


def is_of_other_user(entry: FileEntry, folder: str, area: Optional[str]) -> bool:
    """Return True if another user owns a folder, unless the folder is the area, or is above it. entry: of the folder.

    The owner could replace the content of the folder.
    """
    is_shared = area and (area + "/").startswith(folder.rstrip("/") + "/")
    return entry.is_foreign and not is_shared


def move_entry(source: int, name: str, target: int, new_name: str) -> bool:
    """Move an entry of one open folder into another. Return False, and move nothing, if the new name is taken.

    source, target: the handles of the two folders.
    """
    if not files.is_free(target, new_name):
        return False
    os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    files.flush(target)
    files.flush(source)
    return True


def remove_tree(folder: int, name: str) -> None:
    """Remove a subfolder of an open folder with its content. Raise OSError if another user owns the subfolder.

    Only the subfolder that was opened is emptied, even if another program replaces it in the meantime.
    """
    handle = files.open_folder(folder, name)
    try:
        if os.fstat(handle).st_uid != os.getuid():
            raise OSError(errno.EPERM, "")
        # bottom-up: the folders of each step are empty already
        for _path, folders, names, parent in os.fwalk(".", topdown=False, onerror=_raise, dir_fd=handle):
            for child in folders:
                if files.is_link(parent, child):  # os.fwalk lists links to folders as folders
                    os.unlink(child, dir_fd=parent)
                else:
                    os.rmdir(child, dir_fd=parent)
            for child in names:
                os.unlink(child, dir_fd=parent)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=folder)
    files.flush(folder)


def _raise(error: OSError) -> None:
    """Raise an error that os.fwalk would ignore."""
    raise error
