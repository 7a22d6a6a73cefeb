# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""System calls on an open folder: a file replaced as a whole, and what host.py puts together of drafts and renames.

All raise OSError, which the caller explains. replace() writes what must last, on the account and on the controller.
"""

import errno
import os
import stat
from typing import Callable, Dict, List, NamedTuple, Optional, Union

from .errors import AccountError, errno_name

LARGEST = 4 * 1024**2
DRAFT = ".%s.hpc.onboard-draft"
PATH = getattr(os, "O_PATH", os.O_RDONLY)  # a controller with macOS loads this without running it
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
NOATIME = getattr(os, "O_NOATIME", 0)  # Linux has it
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PASS = PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ACL = "system.posix_acl_access"
KEPT = ("user.", "system.")  # attributes that are the user's; others are the file system's own


class FileEntry(NamedTuple):
    """What lies at a path, the last component not followed."""

    kind: str  # folder, file, link or other
    mode: int  # permission bits
    mine: bool
    is_roots: bool  # owned by root
    links: int  # names of the same file
    target: str  # of a link, else ""

    @property
    def is_foreign(self) -> bool:
        """Whether it belongs to neither this account nor root: its owner may put anything there."""
        return not (self.mine or self.is_roots)

    @property
    def is_private(self) -> bool:
        """Whether it is a folder of this account's that nobody else may look into."""
        return self.kind == "folder" and self.mine and not self.mode & 0o077


KINDS = {  # what a thing is, in the sentences, too: each goes with 'a'
    stat.S_IFDIR: "folder",
    stat.S_IFREG: "file",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFBLK: "device",
    stat.S_IFCHR: "device",
}


class Unconfirmed(OSError):
    """The new content has its name, but the disk did not confirm the change of names."""


class NotKept(OSError):
    """What is read back is not what was written: another program writes there, too."""


def replace(
    folder: int,
    name: str,
    content: bytes,
    mode: int,
    attributes: Dict[str, bytes],
    check: Optional[Callable[[str], None]] = None,
) -> None:
    """Put a whole file in place or leave what is there: draft, flush, rename, flush, read back.

    A link of that name is replaced, not followed. check is told the whole draft's name; it may raise.
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
    """The group of a file, for its successor; -1 where there is none."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_gid
    except OSError:
        return -1


def write_draft(
    folder: int, name: str, content: bytes, mode: int, attributes: Dict[str, bytes], group: int = -1
) -> None:
    """Make a new file with its final mode from the first byte, and the group as far as may be; flush it to the disk."""
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
        pass  # it is a group that the user has left


def to_entry(found: os.stat_result, target: str) -> FileEntry:
    """The entry for what the system says of a path."""
    kind = KINDS.get(stat.S_IFMT(found.st_mode), "special file")
    mine, roots = found.st_uid == os.getuid(), found.st_uid == 0
    return FileEntry(kind, stat.S_IMODE(found.st_mode), mine, roots, found.st_nlink, target)


def why_unsafe(folder: FileEntry, shown: str) -> Optional[str]:
    """Why a secret may not lie below this component."""
    if folder.kind != "folder":
        return "%s is a %s; a key is kept in plain folders only" % (shown, folder.kind)
    if not (folder.mine or folder.is_roots):
        return "%s belongs to somebody else, who could swap the file" % shown
    if folder.mode & 0o022 and not folder.mode & stat.S_ISVTX:
        return "others may write in %s and could swap the file: chmod go-w there" % shown
    return None


def list_attributes(file: Union[int, str]) -> List[str]:
    """The names of a file's extended attributes; none where the file system or this Python does not know such."""
    if not hasattr(os, "listxattr"):  # a controller with macOS writes its records by these functions, too
        return []
    try:
        return os.listxattr(file) if isinstance(file, int) else os.listxattr(file, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return []
        raise


def read_attributes(file: str) -> Dict[str, bytes]:
    """The extended attributes that are the user's, access lists among them."""
    return {name: os.getxattr(file, name) for name in list_attributes(file) if name.startswith(KEPT)}


def read_file_at(folder: int, name: str, most: int = LARGEST) -> Optional[bytes]:
    """What a file of the folder holds, one byte more than most at the most; None without one. No link is opened."""
    try:
        handle = open_for_reading(name, READ, folder)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as stream:
        return stream.read(most + 1)


def is_free(folder: int, name: str) -> bool:
    """Whether nothing has this name."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return False


def is_link(folder: int, name: str) -> bool:
    """Whether a symbolic link has this name."""
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def draft_path(path: str) -> str:
    """Where a file or a folder is made, or taken apart, before it has its name, or when it has it no more."""
    folder, name = os.path.split(path)
    return os.path.join(folder, DRAFT % name)


def make_folder(folder: int, name: str, mode: int) -> os.stat_result:
    """Make a folder with its mode in one step, whatever the umask says: what has its name then may be another thing.

    Raises OSError, also where something else has taken its name at once.
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
    """Make a folder that holds what fill puts into its draft from the first moment.

    An empty draft that an ended run left is removed.
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
    """Remove a folder all at once: what empty takes out of its draft goes; if something is left, it is back.

    An empty draft that cannot be removed stays a draft, which the next run clears away: the folder would be nobody's.
    """
    draft = DRAFT % name
    os.rename(name, draft, src_dir_fd=folder, dst_dir_fd=folder)
    try:
        empty()
        os.rmdir(draft, dir_fd=folder)
    except (OSError, AccountError) as error:
        is_ours = isinstance(error, AccountError)  # what empty could not take out
        if is_free(folder, name) and not is_free(folder, draft) and _holds_any(folder, draft, is_ours):
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        raise
    flush(folder)


def _holds_any(folder: int, name: str, is_ours: bool) -> bool:
    """Whether something lies in a folder. Empty folders of ours do not count: the next run clears them away."""
    found = os.fwalk(name, dir_fd=folder)
    return any(names or (below and not is_ours) for _place, below, names, _handle in found)


def open_folder(folder: int, name: str = ".") -> int:
    """A folder opened so that it can be listed and flushed; no link is opened."""
    return open_for_reading(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, folder)


def open_for_reading(name: str, flags: int, folder: Optional[int] = None) -> int:
    """Open something to read it. Its access time, by which scratch is purged, stays where its owner asks for that."""
    try:
        return os.open(name, flags | NOATIME, dir_fd=folder)
    except PermissionError:
        return os.open(name, flags, dir_fd=folder)


def flush(folder: int) -> None:
    """Make a change of names durable; some file systems cannot and say EINVAL."""
    try:
        os.fsync(folder)
    except OSError as error:
        if errno_name(error) != "EINVAL":
            raise


def unlink_if_present(folder: int, name: str) -> None:
    """Remove a file or link, if it is there."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def discard_draft(folder: int, name: str) -> None:
    """Remove a draft that was not renamed; that this fails too must not hide the first error."""
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass
