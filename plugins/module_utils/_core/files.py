# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""System calls relative to an open folder: atomic replacement of files and folders by drafts and renames.

All functions raise OSError, which the caller explains. The controller writes its records with replace(), too.
"""

import errno
import os
import stat
from typing import Callable, Dict, List, NamedTuple, Optional, Union

from .errors import AccountError, errno_name

LARGEST = 4 * 1024**2
DRAFT = ".%s.hpc.onboard-draft"
PATH = getattr(os, "O_PATH", os.O_RDONLY)  # macOS has none: a controller loads this without using it
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
NOATIME = getattr(os, "O_NOATIME", 0)  # only Linux has it
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PASS = PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ACL = "system.posix_acl_access"
KEPT = ("user.", "system.")  # prefixes of the user's extended attributes; others belong to the file system


class FileEntry(NamedTuple):
    """What is at a path, without following a link."""

    kind: str  # folder, file, link or other
    mode: int  # permission bits
    mine: bool
    is_roots: bool  # owned by root
    links: int  # names of the same file
    target: str  # of a link, else ""

    @property
    def is_foreign(self) -> bool:
        """Return True if a user other than root and this account owns it, who may replace it."""
        return not (self.mine or self.is_roots)

    @property
    def is_private(self) -> bool:
        """Return True if it is a folder of this account without permissions for others."""
        return self.kind == "folder" and self.mine and not self.mode & 0o077


KINDS = {  # also used in messages, after 'a'
    stat.S_IFDIR: "folder",
    stat.S_IFREG: "file",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFBLK: "device",
    stat.S_IFCHR: "device",
}


class Unconfirmed(OSError):
    """The new file is in place, but the disk did not confirm the rename."""


class NotKept(OSError):
    """The file does not have the written content: another program writes it, too."""


def replace(
    folder: int,
    name: str,
    content: bytes,
    mode: int,
    attributes: Dict[str, bytes],
    check: Optional[Callable[[str], None]] = None,
) -> None:
    """Replace a file as a whole or leave it as it is: write a draft, flush, rename, flush, read back.

    A link of that name is replaced, not followed. check: called with the draft's name before the rename; may raise.
    """
    draft = DRAFT % name
    try:
        write_draft(folder, draft, content, mode, attributes, group_id(folder, name))
        if check:
            check(draft)
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        discard_draft(folder, draft)
        raise
    try:
        flush(folder)
    except OSError as error:
        raise Unconfirmed(error.errno, "") from None
    if read_file_at(folder, name, len(content)) != content:
        raise NotKept(errno.EIO, "")


def group_id(folder: int, name: str) -> int:
    """Return the group of a file, for its successor; -1 if there is no file."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_gid
    except OSError:
        return -1


def write_draft(
    folder: int, name: str, content: bytes, mode: int, attributes: Dict[str, bytes], group: int = -1
) -> None:
    """Write a new file that has its final mode from the first byte, and flush it. The group is set if possible."""
    unlink_if_present(folder, name)
    handle = os.open(name, CREATE, mode & 0o700, dir_fd=folder)
    try:
        for key, value in attributes.items():
            os.setxattr(handle, key, value)
        if not attributes and ACL in list_attributes(handle):
            os.removexattr(handle, ACL)
        if group not in (-1, os.fstat(handle).st_gid):
            _keep_group(handle, group)
        os.fchmod(handle, mode)
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _keep_group(handle: int, group: int) -> None:
    try:
        os.fchown(handle, -1, group)
    except OSError:
        pass  # the user is no longer in that group


def to_entry(found: os.stat_result, target: str) -> FileEntry:
    """Return the entry for a stat result. target: of a link."""
    kind = KINDS.get(stat.S_IFMT(found.st_mode), "special file")
    mine, roots = found.st_uid == os.getuid(), found.st_uid == 0
    return FileEntry(kind, stat.S_IMODE(found.st_mode), mine, roots, found.st_nlink, target)


def why_unsafe(folder: FileEntry, shown: str) -> Optional[str]:
    """Return why no secret may be stored below a folder, or None. shown: its path for the message."""
    if folder.kind != "folder":
        return "%s is a %s; keys are stored in regular folders only" % (shown, folder.kind)
    if not (folder.mine or folder.is_roots):
        return "%s belongs to another user, who could replace the file" % shown
    if folder.mode & 0o022 and not folder.mode & stat.S_ISVTX:
        return "others can write to %s and replace the file. Run: chmod go-w %s" % (shown, shown)
    return None


def list_attributes(file: Union[int, str]) -> List[str]:
    """Return the names of a file's extended attributes; none if the file system or this Python lacks them."""
    if not hasattr(os, "listxattr"):  # on macOS, where a controller may run
        return []
    try:
        return os.listxattr(file) if isinstance(file, int) else os.listxattr(file, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return []
        raise


def read_attributes(file: str) -> Dict[str, bytes]:
    """Return the extended attributes of the user, including access lists."""
    return {name: os.getxattr(file, name) for name in list_attributes(file) if name.startswith(KEPT)}


def read_file_at(folder: int, name: str, most: int = LARGEST) -> Optional[bytes]:
    """Return the first most + 1 bytes of a file, or None if it is missing. Links are not opened."""
    try:
        handle = open_for_reading(name, READ, folder)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as stream:
        return stream.read(most + 1)


def is_free(folder: int, name: str) -> bool:
    """Return True if nothing has this name."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return False


def is_link(folder: int, name: str) -> bool:
    """Return True if a symbolic link has this name."""
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def draft_path(path: str) -> str:
    """Return the path at which a file or folder is prepared before it gets its name, or emptied after it lost it."""
    folder, name = os.path.split(path)
    return os.path.join(folder, DRAFT % name)


def make_folder(folder: int, name: str, mode: int) -> os.stat_result:
    """Create a folder with its mode in one step, whatever the umask, and return its status.

    Raise OSError, also if another user has replaced it by then.
    """
    umask = os.umask(0)
    try:
        os.mkdir(name, mode, dir_fd=folder)
    finally:
        os.umask(umask)
    flush(folder)
    handle = open_folder(folder, name)
    try:
        made = os.fstat(handle)
        if made.st_uid != os.getuid() or os.listdir(handle):
            raise OSError(errno.EEXIST, "")
        return made
    finally:
        os.close(handle)


def make_filled(folder: int, name: str, mode: int, fill: Callable[[], None]) -> None:
    """Create a folder with content in one step: fill writes into a draft, which is then renamed.

    An empty draft of a killed run is removed.
    """
    draft = DRAFT % name
    try:
        if not is_free(folder, draft):
            os.rmdir(draft, dir_fd=folder)
        make_folder(folder, draft, mode)
        fill()
        if not is_free(folder, name):
            raise OSError(errno.EEXIST, "")
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        flush(folder)
    except OSError:
        try:
            os.rmdir(draft, dir_fd=folder)
        except OSError:
            pass
        raise


def empty_and_remove(folder: int, name: str, empty: Callable[[], None]) -> None:
    """Remove a folder in one step: rename it to a draft, empty that, remove it. If content is left, rename it back.

    An empty draft that cannot be removed stays: the next run removes it. As a folder it would be noted nowhere.
    """
    draft = DRAFT % name
    os.rename(name, draft, src_dir_fd=folder, dst_dir_fd=folder)
    try:
        empty()
        os.rmdir(draft, dir_fd=folder)
    except (OSError, AccountError) as error:
        only_files = isinstance(error, AccountError)  # empty() failed, and may leave empty folders of hpc-onboard
        if is_free(folder, name) and not is_free(folder, draft) and _holds_any(folder, draft, only_files):
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        raise
    flush(folder)


def _holds_any(folder: int, name: str, only_files: bool) -> bool:
    """Return True if a folder holds something; only_files: empty folders do not count, the next run removes them."""
    found = os.fwalk(name, dir_fd=folder)
    return any(names or (below and not only_files) for _place, below, names, _handle in found)


def open_folder(folder: int, name: str = ".") -> int:
    """Open a folder so that it can be listed and flushed. Links are not opened."""
    return open_for_reading(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, folder)


def open_for_reading(name: str, flags: int, folder: Optional[int] = None) -> int:
    """Open a path to read it. The access time, by which scratch is purged, stays if the user owns it."""
    try:
        return os.open(name, flags | NOATIME, dir_fd=folder)
    except PermissionError:
        return os.open(name, flags, dir_fd=folder)


def flush(folder: int) -> None:
    """Make renames in a folder durable. File systems that cannot do that return EINVAL."""
    try:
        os.fsync(folder)
    except OSError as error:
        if errno_name(error) != "EINVAL":
            raise


def unlink_if_present(folder: int, name: str) -> None:
    """Remove a file or link, if it exists."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def discard_draft(folder: int, name: str) -> None:
    """Remove a draft that was not renamed, without an error that would hide the first one."""
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass
