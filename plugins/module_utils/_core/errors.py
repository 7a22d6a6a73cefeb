# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors on an account, with advice for the user.

The text of an AccountError is sent to the user; any other exception is a bug.
"""

import errno
import os

ADVICE = {  # name of an operating system's error -> its meaning and advice for the user
    "EDQUOT": "your quota is used up. Remove files or ask the site for a larger quota, then run hpc-onboard again",
    "ENOSPC": "the file system is full. Remove files, then run hpc-onboard again",
    "EROFS": "the file system is mounted read-only. Ask the site for help",
    "EACCES": "permission denied. Check the permissions (ls -ld) and, if the site uses Kerberos, your ticket (klist)",
    "EPERM": "operation not permitted, even for the owner. Check whether the file is immutable (lsattr)",
    "EBUSY": "the path is in use. End the program that uses the path (lsof) or unmount the path (findmnt), then run"
    " hpc-onboard again",
    "ESTALE": "the file handle is stale. Run hpc-onboard again",
    "EXDEV": "the file or folder is not on the file system of your home directory. Move the file or folder yourself,"
    " then run hpc-onboard again",
    "EMFILE": "too many open files in one process. Raise the limit (ulimit -n), then run hpc-onboard again",
    "ENOMEM": "the login node is out of memory. Run hpc-onboard again later",
    "EAGAIN": "the login node allows no more processes (ulimit -u). End programs there, then run hpc-onboard again",
}


class AccountError(Exception):
    """A problem on the account, or in its plan, that the user can solve."""


class FileSystemHangs(AccountError):
    """A file system does not answer, so the state of all files on it is unknown."""


def errno_name(error: OSError) -> str:
    """Return the symbolic name of the error, such as ENOSPC, not its text, which may contain a secret."""
    return errno.errorcode.get(error.errno or 0, "unknown error")


def as_account_error(error: OSError, doing: str) -> AccountError:
    """Return an AccountError with advice for an error of the operating system.

    doing: the action that failed, such as "reading ~/.netrc", or the name of the resource that failed.
    """
    name = errno_name(error)
    advice = ADVICE.get(name)
    return AccountError("%s failed (%s)%s" % (doing, name, ": " + advice if advice else ""))


def printable(text: str, longest: int = 400) -> str:
    """Return text of a file or program, safe for a terminal and JSON: without control characters, cut if too long.

    longest: the number of characters to keep.
    """
    valid = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "?" for char in valid)[:longest]


def describe_bug(error: BaseException) -> str:
    """Return a message with type and place of an unexpected exception, without its text, which may contain a secret."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = "an unknown place"
    if trace:
        place = "%s:%d" % (os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno)
    return "a bug in hpc.onboard: %s in %s. Please report this bug" % (type(error).__name__, place)
