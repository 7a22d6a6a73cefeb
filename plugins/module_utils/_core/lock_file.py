# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock file that one process at a time holds, over all machines that share its folder.

The lock is one of fcntl, because flock does not exclude two NFS clients. The kernel frees the lock of a dead process,
and the next process takes the file over. After locking, the folder is listed again: otherwise an NFS client may use a
stale name and lose an update. The file contains its holder, for the message that other processes show.

If the file system has no such locks (Lustre mounted with noflock), the existence of a second file is the lock. The file
names machine, boot and process, so that other processes on that machine can see that its owner is dead. Other machines
cannot: their message shows the age of the second file, and the command that removes it.
"""

import errno
import fcntl
import os
import stat
import struct
import time
from typing import Callable, List, Optional, Tuple, Union

from .errors import AccountError, printable

RETRY_SECONDS = 0.05
RETRY_ERRORS = (errno.EAGAIN, errno.EACCES, errno.ENOENT, errno.ESTALE)  # the lock is held, or was just removed
UNSUPPORTED_ERRORS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
SECOND_FILE = "%s.held"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class LockBusy(Exception):
    """Another process holds the lock. The text names the process, its machine and the time of locking.

    orphan: the id of that process if it runs on this machine and its parent has ended; else 0.
    """

    def __init__(self, text: str, orphan: int) -> None:
        super().__init__(text)
        self.orphan = orphan


class LockFile:
    """A lock file in a folder. folder: a path, or a handle that the caller keeps open. name: of the file.

    stays: the file is not removed when the lock is released. opener: opens the file instead of _open, with stricter
    checks, and returns the handle. shown: the file's path for messages, if the folder is a handle.
    """

    def __init__(
        self,
        folder: Union[int, str],
        name: str,
        stays: bool = True,
        opener: Optional[Callable[[], int]] = None,
        shown: str = "",
    ) -> None:
        self._folder, self._stays = folder, stays
        self._dir_fd = folder if isinstance(folder, int) else None
        # relative to _dir_fd if the folder is a handle
        self._path = name if isinstance(folder, int) else os.path.join(folder, name)
        self._shown = shown or self._path
        self._opener = opener or self._open
        self._handle = -1  # of the locked file; -1 without the lock
        self._is_unsupported = False  # True if the file system has no fcntl locks
        self._has_second_file = False  # True if this process created the second file

    def _open(self) -> int:
        """Open or create the lock file and return its handle. Raise AccountError if another user owns the file."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(self._path, flags, 0o600, dir_fd=self._dir_fd)
        try:
            _check_is_own(os.fstat(handle), self._shown)
        except AccountError:
            os.close(handle)
            raise
        return handle

    def acquire(self, wait: float) -> None:
        """Take the lock. wait: how many seconds to wait for another process to release the lock.

        Raise LockBusy after that time, OSError if locking fails, AccountError if another user owns the file.
        """
        deadline = time.monotonic() + wait
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                raise self._make_busy_error()
            time.sleep(RETRY_SECONDS)
        try:
            self._write_holder()
            os.listdir(_lookup_path(self._folder))  # so that an NFS client uses no stale name
        except OSError:
            self.release()
            raise

    def try_acquire(self) -> bool:
        """Try once to take the lock, and return True on success. Raise the errors of acquire, except LockBusy."""
        try:
            handle = self._opener()
        except OSError as error:
            if error.errno == errno.ESTALE:  # the former holder has just removed the file
                return False
            raise
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            present = os.stat(self._path, dir_fd=self._dir_fd, follow_symlinks=False)
            is_acquired = os.fstat(handle).st_ino == present.st_ino  # else the former holder has removed the file
        except OSError as error:
            self._is_unsupported = error.errno in UNSUPPORTED_ERRORS
            is_acquired = self._is_unsupported and self._create_second_file()
            if error.errno not in RETRY_ERRORS + UNSUPPORTED_ERRORS:
                os.close(handle)
                raise
        if is_acquired:
            self._handle = handle
        else:  # another process holds the lock, or has just removed the file
            os.close(handle)
        return is_acquired

    def _create_second_file(self) -> bool:
        """Try to create the second file; return True on success. A dead process's file is removed for the next try."""
        name = SECOND_FILE % self._path
        owner = "%s %s %d" % (os.uname().nodename, _boot_id(), os.getpid())
        try:
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=self._dir_fd)
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise
            self._remove_if_dead(name)
            return False
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(owner.encode("utf-8"))
        except OSError:  # the disk is full: without its owner, no process could see that the file is stale
            self._unlink(name)
            raise
        self._has_second_file = True
        return True

    def _remove_if_dead(self, name: str) -> None:
        """Remove the second file if its process ran on this machine and is dead. name: of the second file."""
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._dir_fd)
            with os.fdopen(handle, "rb") as stream:
                _check_is_own(os.fstat(handle), SECOND_FILE % self._shown)
                owner = stream.read(200).decode("utf-8", "replace").split()  # machine, boot and process
                inode = os.fstat(handle).st_ino
            if len(owner) != 3 or owner[0] != os.uname().nodename:
                return  # invalid content, or another machine
            if owner[1] == _boot_id() and _is_alive(owner[2]):
                return  # the owner holds the lock
            # rename before removal, to see whether the file is still the one that was read
            moved = "%s.%d" % (name, os.getpid())
            os.rename(name, moved, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
            if os.stat(moved, dir_fd=self._dir_fd, follow_symlinks=False).st_ino != inode:
                # another process has created a new second file since: put that file back
                os.link(moved, name, src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
            os.unlink(moved, dir_fd=self._dir_fd)
        except OSError:
            pass  # another process was quicker

    def release(self) -> None:
        """Free the lock, and remove the file unless stays is set. Without the lock, do nothing."""
        if self._handle < 0:
            return
        if self._has_second_file:
            self._unlink(SECOND_FILE % self._path)
        if not self._stays:
            self._unlink(self._path)
        try:
            os.close(self._handle)
        except OSError:
            pass  # the handle is closed all the same, and the lock is free
        self._handle = -1

    def _write_holder(self) -> None:
        """Write this process into the file as the holder, for the messages of other processes."""
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        text = "%s, process %d, since %s\n" % (os.uname().nodename, os.getpid(), since)
        text += "%s %s %d %d\n" % (os.uname().nodename, _boot_id(), os.getpid(), os.getppid())  # for _find_orphan
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, text.encode("utf-8"), 0)
        except OSError:
            pass  # on a full file system the file stays empty; the lock does not depend on the content

    def _make_busy_error(self) -> LockBusy:
        """Return the error that names the holder and the age of the lock, with advice if the holder may be dead."""
        content, seconds = self._read_with_age(self._path)
        description, _end, identity_line = content.partition("\n")  # the two lines that _write_holder wrote
        orphan = _find_orphan(identity_line.split())
        if self._is_unsupported:
            if not (content or self._stays):
                self._unlink(self._path)  # an empty lock file, which this process created while it waited
            return LockBusy(self._describe_second_file(), orphan)
        holder = printable(description.strip())
        return LockBusy("%s, %s ago" % (holder, _format_age(seconds)) if holder else "unknown process", orphan)

    def _describe_second_file(self) -> str:
        """Return the owner and the age of the second file, and the command that removes it if the owner is dead."""
        content, seconds = self._read_with_age(SECOND_FILE % self._path)
        owner = printable(" ".join(content.split())).split()  # machine, boot and process
        holder = "%s, process %s" % (owner[0], owner[2]) if len(owner) == 3 else "unknown process"
        text = "%s, %s ago; if that process has ended, run: rm %s"
        return text % (holder, _format_age(seconds), SECOND_FILE % self._shown)

    def _read_with_age(self, path: str) -> Tuple[str, float]:
        """Return the content and the age in seconds of the lock file or the second file; ("", 0.0) if it is missing."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._dir_fd)
            with os.fdopen(handle, "rb") as stream:
                return stream.read(400).decode("utf-8", "replace"), time.time() - os.fstat(handle).st_mtime
        except OSError:
            return "", 0.0

    def _unlink(self, path: str) -> None:
        """Remove the lock file or the second file, if possible."""
        try:
            os.unlink(path, dir_fd=self._dir_fd)
        except OSError:
            pass  # the file is missing already, or remains as an unlocked file


def _format_age(seconds: float) -> str:
    """Return an age such as "5 minutes"; from 2 hours in hours, from 2 days in days."""
    minutes = max(0, int(seconds)) // 60  # clocks of machines differ, so the age may be negative
    if minutes >= 48 * 60:
        return "%d days" % (minutes // 1440)
    if minutes >= 120:
        return "%d hours" % (minutes // 60)
    return "1 minute" if minutes == 1 else "%d minutes" % minutes


def _check_is_own(status: os.stat_result, shown: str) -> None:
    """Raise AccountError unless this is the status of a regular file of this user with a single hard link.

    Another user could open any other file, for example through a second hard link, and hold its lock for ever. shown:
    the file's path for the message.
    """
    if status.st_uid != os.getuid() or not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        text = "%s is not a lock file that you own: rename or move it, then run hpc-onboard again"
        raise AccountError(text % shown)


def _lookup_path(folder: Union[int, str]) -> Union[int, str]:
    """Return a path to the folder if possible, else the handle: an NFS client asks its server again only for a path."""
    path = "/proc/self/fd/%s" % folder
    return path if isinstance(folder, int) and os.path.isdir(path) else folder


def _boot_id() -> str:
    """Return the id of the machine's current boot, or "-" if it is unknown."""
    try:
        with open(BOOT_ID, encoding="utf-8") as stream:
            return stream.read().strip()
    except OSError:
        return "-"


def _find_orphan(holder: List[str]) -> int:
    """Return the process id of the holder if its process runs but the parent has ended, else 0.

    holder: machine, boot id, process id and parent's process id, from the lock file.
    """
    if len(holder) != 4 or not holder[2].isdigit() or holder[:2] != [os.uname().nodename, _boot_id()]:
        return 0  # invalid content, another machine, or a process from before a reboot
    process, parent = holder[2:]
    return int(process) if _is_alive(process) and not _is_alive(parent) else 0


def _is_alive(process: str) -> bool:
    """Return True if this machine has a process with this id, of any user."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass  # the process of another user
    return True


def is_held(path: str) -> bool:
    """Return True if a process holds the fcntl lock on this file, without trying to take the lock.

    Return False also if the file is missing, or its file system has no such locks.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # struct flock of 64-bit Linux: type, whence, start, length, process; the kernel sets the type in its reply
        query = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        reply = fcntl.fcntl(handle, fcntl.F_GETLK, query)
        return bool(struct.unpack("hhqqi4x", reply)[0] != fcntl.F_UNLCK)
    except OSError:
        return False
    finally:
        os.close(handle)
