# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run at a time on an account, over every login node that shares its home.

fcntl on a file in the home, because flock does not exclude two NFS clients. The kernel frees the
lock of a dead process, and the next run takes the file over. After locking, the home is listed
anew: without that an NFS client serves a stale name and loses an update.
"""

import errno
import fcntl
import os
import time
from types import TracebackType
from typing import Optional, Type

from .._core.errors import AccountError, explained
from .._core.host import Host
from .plan import LOCK as NAME
from .plan import WAIT_SECONDS

AGAIN_SECONDS = 0.1


class Lock:
    """Held between enter and exit; the file is gone afterwards."""

    def __init__(self, host: Host, wait: float = WAIT_SECONDS) -> None:
        self.path = host.root + os.path.join(host.home, NAME)
        self._home = host.root + host.home
        self._wait = wait
        self._handle = -1

    def __enter__(self) -> "Lock":
        deadline = time.time() + self._wait
        try:
            while not self._taken():
                if time.time() > deadline:
                    raise AccountError(
                        "another run is at work on this account (%s): wait for it, or end it, then run again"
                        % self._owner()
                    )
                time.sleep(AGAIN_SECONDS)
            self._sign()
            os.listdir(self._home)
        except OSError as error:
            self._release()
            raise explained(error, "locking the account by ~/" + NAME) from None
        return self

    def _taken(self) -> bool:
        """Try once. A file that was removed while we waited for it is no lock."""
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_ino == os.lstat(self.path).st_ino:
                self._handle = handle
                return True
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.ENOENT):
                os.close(handle)
                raise
        os.close(handle)
        return False

    def _sign(self) -> None:
        """Say who holds it, for the others' message; on a full file system it stays unsaid."""
        text = "%s, process %d, since %s\n" % (
            os.uname().nodename,
            os.getpid(),
            time.strftime("%Y-%m-%d %H:%M:%S"),
        )
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, text.encode("utf-8"), 0)
        except OSError:
            pass

    def _owner(self) -> str:
        try:
            with open(self.path, "rb") as stream:
                text = stream.read(200).decode("utf-8", "replace").strip()
        except OSError:
            text = ""
        return "".join(c if c.isprintable() else "?" for c in text) or "it did not say who"

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._release()

    def _release(self) -> None:
        """Remove the file while it is still ours, then let go. A file that stays is no lock."""
        if self._handle < 0:
            return
        try:
            os.unlink(self.path)
        except OSError:
            pass
        try:
            os.close(self._handle)
        except OSError:
            pass
        self._handle = -1
