# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong on an account, said so that a person can act on it.

One base class: an AccountError is an answer, any other exception is a bug.
"""

import errno
import os

ADVICE = {
    "EDQUOT": "your quota is used up: remove files or ask the site for more, then run again",
    "ENOSPC": "the file system is full: remove files, then run again",
    "EROFS": "the file system is mounted read-only: ask the site",
    "EACCES": "you are not permitted: see 'ls -ld' there; on a Kerberos home, is your ticket forwarded (klist)?",
    "EPERM": "the file system forbids it, even to its owner (immutable? see lsattr)",
    "EBUSY": "something is mounted right there (findmnt says what): ask who did it, then run again",
    "ESTALE": "the file server lost the handle: run again",
    "EMFILE": "too many open files on the login node: run again later",
    "ENOMEM": "the login node is out of memory: run again later",
}


class AccountError(Exception):
    """Something on the account, or in the plan for it, that the user can act on."""


class FileSystemHangs(AccountError):
    """A file system does not answer, so that nothing on it can be known."""


def errno_name(error: OSError) -> str:
    """The symbolic name of the error, ENOSPC say; never its own words, which may hold a value."""
    return errno.errorcode.get(error.errno or 0, "an error")


def as_account_error(error: OSError, doing: str) -> AccountError:
    """The AccountError for an error of the operating system: doing is what was tried, on which path."""
    name = errno_name(error)
    advice = ADVICE.get(name)
    return AccountError("%s: %s%s" % (doing, name, "; " + advice if advice else ""))


def printable(text: str, longest: int = 400) -> str:
    """Foreign text as it can be shown and sent: nothing in it moves a cursor, and a file name may hold any byte."""
    whole = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "?" for c in whole)[:longest]


def describe_bug(error: BaseException) -> str:
    """Kind and place of an unexpected exception, without its text: that may hold a secret."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = "an unknown place"
    if trace:
        place = "%s:%d" % (os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno)
    return "a bug of hpc.onboard: %s in %s; please report it" % (type(error).__name__, place)
