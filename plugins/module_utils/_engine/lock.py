# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock that lets one run at a time change an account, over all login nodes that share its home."""

import os
from typing import Callable

from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.lock_file import LockBusy, LockFile
from .plan import LOCK as NAME
from .plan import WAIT_SECONDS

# LockBusy is inserted: the other run's machine, process and start
BUSY = "another run is working on this account (%s): wait for that run or stop it, then run hpc-onboard again"


def run_locked(host: Host, work: Callable[[], None], seconds: float = WAIT_SECONDS) -> None:
    """Hold the account's lock while work() runs, and remove the lock file at the end.

    The file is created through a handle of the home: its path could change if others can rename a folder above it.
    seconds: how long to wait for another run that holds the lock. Raise AccountError if that run holds it even then.
    """
    path = os.path.join(host.home, NAME)
    folder = host.open_parent(path, "locking ")
    try:
        file = LockFile(folder.handle, NAME, stays=False, shown=host.real(path))
        try:
            file.acquire(seconds)
        except LockBusy as error:
            raise AccountError(BUSY % error) from None
        except OSError as error:
            raise as_account_error(error, "locking the account with ~/%s" % NAME) from None
        try:
            work()
        finally:
            file.release()
    finally:
        folder.close()
