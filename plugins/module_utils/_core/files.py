# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""System calls that replace files and folders atomically: a draft (a temporary name) is written, then renamed.

A folder given as a number is the handle of an open folder (dir_fd); name: in this folder. mode: permission bits. All
functions raise OSError, for which the caller writes the message. The user's machine writes its records with replace().
"""

import errno
import os
import stat
from typing import Callable, Dict, List, NamedTuple, Optional, Union

from .errors import AccountError

LARGEST = 4 * 1024**2  # bytes of a file that is read
DRAFT = ".%s.hpc.onboard-draft"  # the name of a draft, in which the final name is inserted
PATH = getattr(os, "O_PATH", os.O_RDONLY)  # macOS lacks O_PATH; a controller there only imports this module
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
NOATIME = getattr(os, "O_NOATIME", 0)  # only Linux has it
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # does not wait for the writer of a pipe
PASS = PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # for a handle used only as dir_fd
ACL = "system.posix_acl_access"  # the extended attribute that contains an access list
KEPT = ("user.", "system.")  # prefixes of the user's extended attributes; others belong to the file system


class FileEntry(NamedTuple):
    """The file, folder or link at a path; a link is not followed."""

    kind: str  # a value of KINDS, or "special file"
    mode: int  # permission bits
    mine: bool  # owned by this account
    is_roots: bool  # owned by root
    links: int  # number of hard links
    target: str  # of a link, else ""

    @property
    def is_foreign(self) -> bool:
        """Return True if the owner is neither root nor this account, and so may replace the entry."""
        return not (self.mine or self.is_roots)

    @property
    def is_private(self) -> bool:
        """Return True for a folder of this account that grants other users no permission."""
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
    """The file does not have the written content, because another program writes to the file as well."""


def replace(
    folder: int,
    name: str,
    content: bytes,
    mode: int,
    attributes: Dict[str, bytes],
    check: Optional[Callable[[str], None]] = None,
) -> None:
    """Replace a file completely or not at all: write a draft, flush, rename, flush, read back.

    A link of that name is replaced, not followed. attributes: extended attributes for the new file. check: called with
    the draft's name before the rename; raises an error to keep the old file. Raise Unconfirmed or NotKept (see above).
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
    """Return the group ID of a file, for its replacement; -1 if the file does not exist."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_gid
    except OSError:
        return -1


def write_draft(
    folder: int, name: str, content: bytes, mode: int, attributes: Dict[str, bytes], group: int = -1
) -> None:
    """Write and flush a new file that no other user can read before it has its final mode.

    attributes: extended attributes to set. group: the group ID to set if the account may, -1 for none.
    """
    unlink_if_present(folder, name)
    handle = os.open(name, CREATE, mode & 0o700, dir_fd=folder)
    try:
        for key, value in attributes.items():
            os.setxattr(handle, key, value)
        if not attributes and ACL in list_attributes(handle):  # an access list inherited from the folder
            os.removexattr(handle, ACL)
        if group not in (-1, os.fstat(handle).st_gid):
            _keep_group(handle, group)
        os.fchmod(handle, mode)
        rest = memoryview(content)  # a system call may write only a part
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _keep_group(handle: int, group: int) -> None:
    """Give an open file this group ID, if the account may."""
    try:
        os.fchown(handle, -1, group)
    except OSError:
        pass  # the user is no longer in that group


def to_entry(status: os.stat_result, target: str) -> FileEntry:
    """Return the entry for a stat result. target: the target of a link, else ""."""
    kind = KINDS.get(stat.S_IFMT(status.st_mode), "special file")
    mine, is_roots = status.st_uid == os.getuid(), status.st_uid == 0
    return FileEntry(kind, stat.S_IMODE(status.st_mode), mine, is_roots, status.st_nlink, target)


def why_unsafe(folder: FileEntry, shown: str) -> Optional[str]:
    """Return why no secret may be stored in a folder or below, or None. shown: the folder's path for the message."""
    if folder.kind != "folder":
        return "%s is a %s, but hpc-onboard stores keys only in regular folders" % (shown, folder.kind)
    if folder.is_foreign:
        return "%s belongs to another user, who could replace your files in it: use another folder" % shown
    if folder.mode & 0o022 and not folder.mode & stat.S_ISVTX:  # with the sticky bit, only owners replace files
        return "other users can write to %s and replace its files. Run: chmod go-w %s" % (shown, shown)
    return None


def list_attributes(file: Union[int, str]) -> List[str]:
    """Return the names of the extended attributes of a file (a handle or a path); [] where they are not supported."""
    if not hasattr(os, "listxattr"):  # on macOS, where a controller may run
        return []
    try:
        return os.listxattr(file) if isinstance(file, int) else os.listxattr(file, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return []
        raise


def read_attributes(file: str) -> Dict[str, bytes]:
    """Return the extended attributes that a replacement of the file must keep, including access lists."""
    return {name: os.getxattr(file, name) for name in list_attributes(file) if name.startswith(KEPT)}


def read_file_at(folder: int, name: str, limit: int = LARGEST) -> Optional[bytes]:
    """Return a file's content, or limit + 1 bytes of a longer file; None without a file. A link causes OSError."""
    try:
        handle = open_for_reading(name, READ, folder)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as stream:
        return stream.read(limit + 1)


def is_free(folder: int, name: str) -> bool:
    """Return True if no file, folder or link has this name."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return False


def is_link(folder: int, name: str) -> bool:
    """Return True if a symbolic link has this name."""
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def draft_path(path: str) -> str:
    """Return the draft's path. path: of the file or folder that will be created, or the folder that will be removed."""
    folder, name = os.path.split(path)
    return os.path.join(folder, DRAFT % name)


def make_folder(folder: int, name: str, mode: int) -> os.stat_result:
    """Create a folder with this mode, whatever the umask, and return its status. Raise OSError on failure."""
    umask = os.umask(0)
    try:
        os.mkdir(name, mode, dir_fd=folder)
    finally:
        os.umask(umask)
    flush(folder)
    handle = open_folder(folder, name)
    try:
        status = os.fstat(handle)
        if status.st_uid != os.getuid() or os.listdir(handle):  # another user has replaced the new folder
            raise OSError(errno.EEXIST, "")
        return status
    finally:
        os.close(handle)


def make_filled_folder(folder: int, name: str, mode: int, fill: Callable[[], None]) -> None:
    """Create a folder with content in one step: fill writes into a draft, which is then renamed."""
    draft = DRAFT % name
    try:
        if not is_free(folder, draft):
            os.rmdir(draft, dir_fd=folder)  # the empty draft of a killed run; any other raises an error
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
            pass  # the first error, which is raised below, explains more
        raise


def empty_and_remove(folder: int, name: str, empty: Callable[[], None]) -> None:
    """Remove a folder in one step: rename it to a draft, let empty() empty the draft, remove the draft.

    If content is left, the draft gets its old name back, unless the name is taken. The next run removes an empty draft.
    """
    draft = DRAFT % name
    os.rename(name, draft, src_dir_fd=folder, dst_dir_fd=folder)
    try:
        empty()
        os.rmdir(draft, dir_fd=folder)
    except (OSError, AccountError) as error:
        ignore_folders = isinstance(error, AccountError)  # empty() failed, and may leave empty folders of hpc-onboard
        if is_free(folder, name) and _has_content(folder, draft, ignore_folders):
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        raise
    flush(folder)


def _has_content(folder: int, name: str, ignore_folders: bool) -> bool:
    """Return True if a folder exists and has content. ignore_folders: subfolders without files are no content."""
    tree = [] if is_free(folder, name) else os.fwalk(name, dir_fd=folder)
    return any(names or (folders and not ignore_folders) for _path, folders, names, _handle in tree)


def open_folder(folder: int, name: str = ".") -> int:
    """Return a handle with which a folder can be listed and flushed. Raise OSError if the name is a link."""
    return open_for_reading(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, folder)


def open_for_reading(name: str, flags: int, folder: Optional[int] = None) -> int:
    """Open a path, or a name in a folder, and return a handle. Keep the access time if possible: sites purge by it."""
    try:
        return os.open(name, flags | NOATIME, dir_fd=folder)
    except PermissionError:  # only the owner may use O_NOATIME
        return os.open(name, flags, dir_fd=folder)


def flush(folder: int) -> None:
    """Make renames in a folder durable. EINVAL, from a file system that cannot do that, is ignored."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def unlink_if_present(folder: int, name: str) -> None:
    """Remove a file or link, if it exists."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def discard_draft(folder: int, name: str) -> None:
    """Remove a draft that was not renamed. Ignore an error, which would hide the error of the caller."""
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass
