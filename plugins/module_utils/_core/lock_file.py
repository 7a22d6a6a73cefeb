# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock file that one process at a time holds, over all machines that share its folder.

It uses fcntl, because flock does not exclude two NFS clients. The kernel frees the lock of a dead process, and the next
one takes the file over. After locking, the folder is listed again: otherwise an NFS client serves a stale name and
loses an update. The file names its holder, for the message of others.

If the file system has no such locks (Lustre mounted with noflock), the existence of a second file is the lock. It names
machine, boot and process, so that another process on that machine can tell that its owner is dead. On other machines
this is unknown: the message has its age, and the command that removes it.
"""

import errno
import fcntl
import os
import stat
import struct
import time
from typing import Callable, List, Optional, Tuple, Union

from .errors import AccountError, printable

AGAIN_SECONDS = 0.05
AGAIN = (errno.EAGAIN, errno.EACCES, errno.ENOENT, errno.ESTALE)  # another process holds it, or has just removed it
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
HELD = "%s.held"  # name of the second file
BOOT = "/proc/sys/kernel/random/boot_id"


class LockBusy(Exception):
    """Another process holds the lock; the text says which one, on which machine, since when.

    orphan: its process id if it is on this machine and its parent has ended; else 0.
    """

    def __init__(self, text: str, orphan: int = 0) -> None:
        super().__init__(text)
        self.orphan = orphan


class LockFile:
    """The lock of that name in a folder, which is a path or a handle that stays open.

    stays: keep the file when the lock is released. opened: opens the file instead of _open, with stricter checks.
    shown: its path for messages, if the folder is a handle.
    """

    def __init__(
        self,
        folder: Union[int, str],
        name: str,
        stays: bool = True,
        opened: Optional[Callable[[], int]] = None,
        shown: str = "",
    ) -> None:
        self._folder, self._stays = folder, stays
        self._above = folder if isinstance(folder, int) else None
        self._place = name if isinstance(folder, int) else os.path.join(folder, name)
        self._shown = shown or self._place
        self._opened = opened or self._open
        self._handle = -1
        self._is_lockless = self._by_name = False

    def _open(self) -> int:
        """Open or create the lock file and return its handle. Raise AccountError if it is not the user's."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(self._place, flags, 0o600, dir_fd=self._above)
        try:
            self._check_ours(os.fstat(handle))
        except AccountError:
            os.close(handle)
            raise
        return handle

    def _check_ours(self, found: os.stat_result) -> None:
        """Raise AccountError if another user made the file: he could hold it for ever."""
        if found.st_uid != os.getuid() or not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise AccountError("%s is not a lock file that you own: move it away, then run again" % self._shown)

    def acquire(self, wait: float) -> None:
        """Take the lock after waiting for so many seconds at most.

        Raise LockBusy; OSError if locking fails; AccountError if the file is another user's.
        """
        deadline = time.monotonic() + wait
        while not self.take():
            if time.monotonic() >= deadline:
                raise self._make_busy_error()
            time.sleep(AGAIN_SECONDS)
        try:
            self._write_holder()
            os.listdir(_lookup_path(self._folder))
        except OSError:
            self.release()
            raise

    def take(self) -> bool:
        """Try once to take the lock. A file that was removed by then does not count."""
        try:
            handle = self._opened()
        except OSError as error:
            if error.errno == errno.ESTALE:
                return False
            raise
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            there = os.stat(self._place, dir_fd=self._above, follow_symlinks=False)
            if os.fstat(handle).st_ino == there.st_ino:
                self._handle = handle
                return True
        except OSError as error:
            self._is_lockless = error.errno in NO_LOCKS
            if self._is_lockless and self._take_by_name():
                self._handle = handle
                return True
            if error.errno not in AGAIN + NO_LOCKS:
                os.close(handle)
                raise
        os.close(handle)
        return False

    def _take_by_name(self) -> bool:
        """Try to create the second file. Remove it if its owner on this machine is dead, for the next try."""
        name = HELD % self._place
        text = "%s %s %d" % (os.uname().nodename, _boot_id(), os.getpid())
        try:
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=self._above)
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise
            self._remove_dead(name)
            return False
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8"))
        self._by_name = True
        return True

    def _remove_dead(self, name: str) -> None:
        """Remove the second file of a dead process of this machine; one of another machine may be alive."""
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._above)
            with os.fdopen(handle, "rb") as stream:
                self._check_ours(os.fstat(handle))
                words = stream.read(200).decode("utf-8", "replace").split()
                number = os.fstat(handle).st_ino
            if len(words) != 3 or words[0] != os.uname().nodename or (words[1] == _boot_id() and _is_alive(words[2])):
                return
            grave = "%s.%d" % (name, os.getpid())
            os.rename(name, grave, src_dir_fd=self._above, dst_dir_fd=self._above)
            if (
                os.stat(grave, dir_fd=self._above, follow_symlinks=False).st_ino != number
            ):  # a new lock of another process
                os.link(grave, name, src_dir_fd=self._above, dst_dir_fd=self._above)
            os.unlink(grave, dir_fd=self._above)
        except OSError:
            pass  # another process was quicker

    def release(self) -> None:
        """Remove the file, unless it stays, and then free the lock."""
        if self._handle < 0:
            return
        if self._by_name:
            self._unlink(HELD % self._place)
        if not self._stays:
            self._unlink(self._place)
        try:
            os.close(self._handle)
        except OSError:
            pass
        self._handle = -1

    def _write_holder(self) -> None:
        """Write the holder into the file, for the message of others; on a full file system it stays empty."""
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        text = "%s, process %d, since %s\n" % (os.uname().nodename, os.getpid(), since)
        text += "%s %s %d %d\n" % (os.uname().nodename, _boot_id(), os.getpid(), os.getppid())  # for _orphan
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, text.encode("utf-8"), 0)
        except OSError:
            pass

    def _make_busy_error(self) -> LockBusy:
        """Return the error with the holder, the age, and what removes a lock that outlived its owner."""
        text, seconds = self._read(self._place)
        signed, _end, process = text.partition("\n")
        holder, further = printable(signed.strip()), ""
        if self._is_lockless:
            if not (text or self._stays):
                self._unlink(self._place)  # this process created it while it waited
            words, seconds = self._read(HELD % self._place)
            owner = printable(" ".join(words.split())).split()
            holder = "%s, process %s" % (owner[0], owner[2]) if len(owner) == 3 else "unknown process"
            further = "; if that process has ended: rm " + HELD % self._shown
        minutes = max(0, int(seconds)) // 60
        age = "%d minutes" % minutes if minutes < 120 else "%d hours" % (minutes // 60)
        if minutes >= 48 * 60:
            age = "%d days" % (minutes // 1440)
        text = "%s, %s ago%s" % (holder, age, further) if holder else "unknown process"
        return LockBusy(text, _find_orphan(process.split()))

    def _read(self, place: str) -> Tuple[str, float]:
        """Return the content of the lock file or the second file, and its age in seconds."""
        try:
            handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._above)
            with os.fdopen(handle, "rb") as stream:
                return stream.read(400).decode("utf-8", "replace"), time.time() - os.fstat(handle).st_mtime
        except OSError:
            return "", 0.0

    def _unlink(self, place: str) -> None:
        try:
            os.unlink(place, dir_fd=self._above)
        except OSError:
            pass  # it is gone, or stays and is no lock


def _lookup_path(folder: Union[int, str]) -> Union[int, str]:
    """Return a path to an open folder: an NFS client asks its server when it looks up a path, not a handle."""
    path = "/proc/self/fd/%s" % folder
    return path if isinstance(folder, int) and os.path.isdir(path) else folder


def _boot_id() -> str:
    """Return the id of the machine's current boot, or "-" if it is unknown."""
    try:
        with open(BOOT, encoding="utf-8") as stream:
            return stream.read().strip()
    except OSError:
        return "-"


def _find_orphan(signed: List[str]) -> int:
    """Return the process that signed with machine, boot, process and parent, if only its parent has ended."""
    if len(signed) != 4 or not signed[2].isdigit() or signed[:2] != [os.uname().nodename, _boot_id()]:
        return 0
    return int(signed[2]) if _is_alive(signed[2]) and not _is_alive(signed[3]) else 0


def _is_alive(process: str) -> bool:
    """Return True if a process of this machine exists, whoever owns it."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass
    return True


def is_held(path: str) -> bool:
    """Return True if a process holds the lock on this file, without taking it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        query = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        reply = fcntl.fcntl(handle, fcntl.F_GETLK, query)
        return bool(struct.unpack("hhqqi4x", reply)[0] != fcntl.F_UNLCK)
    except OSError:
        return False
    finally:
        os.close(handle)
