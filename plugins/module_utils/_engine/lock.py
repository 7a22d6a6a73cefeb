# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock that lets one run at a time change an account, over all login nodes that share its home."""

import os
from types import TracebackType
from typing import Optional, Type

from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.lock_file import LockBusy, LockFile
from .plan import LOCK as NAME
from .plan import WAIT_SECONDS

# LockBusy is inserted: the other run's machine, process and start
BUSY = "another run is working on this account (%s): wait for that run or stop it, then run hpc-onboard again"


class AccountLock:
    """A context manager that holds the account's lock, and removes the lock file at the end.

    The file is created through a handle of the home: its path could change if others can rename a folder above it.
    """

    def __init__(self, host: Host, seconds: float = WAIT_SECONDS) -> None:
        """Prepare a lock. seconds: how long to wait for another run that holds the lock."""
        self._host, self._seconds = host, seconds

    def __enter__(self) -> "AccountLock":
        """Take the lock. Raise AccountError if another run still holds it at the end of the wait."""
        path = os.path.join(self._host.home, NAME)
        self._folder = self._host.open_parent(path, "locking ")
        self._file = LockFile(self._folder.handle, NAME, stays=False, shown=self._host.real(path))
        try:
            self._file.acquire(self._seconds)
        except LockBusy as error:
            self._folder.close()
            raise AccountError(BUSY % error) from None
        except (AccountError, OSError) as error:
            self._folder.close()
            if isinstance(error, OSError):
                raise as_account_error(error, "locking the account with ~/%s" % NAME) from None
            raise
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Free the lock, and remove its file."""
        self._file.release()
        self._folder.close()
