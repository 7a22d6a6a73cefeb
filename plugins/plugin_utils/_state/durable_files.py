# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that must survive a crash and nobody else may touch: what hpc.onboard remembers of the user's keys.

They lie in the state folder (XDG base directories), which is the user's alone (0700, files 0600). A
file is a plain one with one name, never a link, and a lock is a file that stays. How they are written and locked
is the engine's (files.py, lock_file.py); here is what it means for a person.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...module_utils._core import files
from ...module_utils._core.errors import errno_name
from ...module_utils._core.lock_file import Busy, LockFile
from .fingerprint_key import make_private, state_folder

WAIT = "wait for it, or end it"
LARGEST = 64 * 1024 * 1024
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PLAIN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class StateError(Exception):
    """What is remembered here cannot be used or kept, and what to do about it."""


def refused(error: OSError, path: str) -> StateError:
    """The StateError for an error of the operating system at path; never its own words."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return StateError(f"{path} is a link or no folder: nothing is kept behind links; look at it and move it away")
    return StateError(f"{path}: {errno_name(error)}: put that right, then run again")


@contextmanager
def told(name: str) -> Iterator[None]:
    """What the operating system says of a file here becomes a StateError."""
    try:
        yield
    except OSError as error:
        raise refused(error, _shown(name)) from None


@contextmanager
def folder(below: str = "", make: bool = True) -> Iterator[int]:
    """The open state folder, or one below it; -1 where it is not there and must not be made."""
    base = state_folder()
    handle = -1
    try:
        if make:
            _make(base.parent)
        if base.parent.is_dir():
            check_way(Path(os.path.realpath(base.parent)))
            handle = _private(str(base), None, make, str(base))
            if below and handle >= 0:
                outer, handle = handle, -1
                try:
                    handle = _private(below, outer, make, str(base / below))
                finally:
                    os.close(outer)
        yield handle
    finally:
        if handle >= 0:
            os.close(handle)


def _make(path: Path) -> None:
    try:
        make_private(path)
    except OSError as error:
        raise refused(error, str(error.filename)) from None


def check_way(path: Path) -> None:
    """Nobody else may be able to swap a folder on the way down (the rule of OpenSSH). Raises StateError."""
    for one in [*reversed(path.parents), path]:
        why = files.unsafe(files.entry(one.lstat(), ""), str(one))
        if why:
            raise StateError(why)


def _private(name: str, above: int | None, make: bool, shown: str) -> int:
    """The open folder of that name: a plain one, mine, closed to all others."""
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=above)
        handle = os.open(name, FOLDER, dir_fd=above)
    except FileNotFoundError:
        return -1
    except OSError as error:
        raise refused(error, shown) from None
    try:
        check_mine(os.fstat(handle), shown, 0o700)
    except StateError:
        os.close(handle)
        raise
    return handle


def check_mine(found: os.stat_result, shown: str, mode: int) -> None:
    """A folder or a file is mine and closed to all others; mode is the one that it should have. Raises StateError."""
    if found.st_uid != os.getuid():
        raise StateError(f"{shown} belongs to somebody else: what it says cannot be trusted; move it away")
    if found.st_mode & 0o077:
        raise StateError(f"others may read or write {shown} (mode {found.st_mode & 0o7777:04o}): chmod {mode:o} it")


def _shown(name: str) -> str:
    return f"{name} below {state_folder()}"


def open_file(at: int, name: str, flags: int, shown: str = "") -> int:
    """An open file of the folder: plain, mine, one name, 0600. Raises StateError, or FileNotFoundError.

    shown: what it is called where the folder is not the state folder.
    """
    shown = shown or _shown(name)
    try:
        handle = os.open(name, flags | PLAIN, 0o600, dir_fd=at)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(error, shown) from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:  # 0: a writer has replaced it just now
            raise StateError(f"{shown} is no plain file with one name: look at it and move it away")
        check_mine(found, shown, 0o600)
    except StateError:
        os.close(handle)
        raise
    return handle


def read(at: int, name: str, largest: int = LARGEST, shown: str = "") -> bytes | None:
    """What a file of the folder holds; None where there is none."""
    try:
        handle = open_file(at, name, os.O_RDONLY, shown)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as stream:
        content = stream.read(largest + 1)
    if len(content) > largest:
        raise StateError(f"{shown or name} is larger than anything that is kept here: look at it and move it away")
    return content


def replace(at: int, name: str, content: bytes) -> None:
    """Put the whole content in place, for the user alone, or leave the old one."""
    read(at, name)  # what must not be read must not be replaced
    try:
        files.replace(at, name, content, 0o600, {})
    except files.NotKept:
        raise StateError(f"{name} does not hold what was just written: is another program at work? run again") from None
    except OSError as error:
        raise refused(error, _shown(name)) from None


@contextmanager
def locked(at: int, name: str, what: str, wait: float) -> Iterator[None]:
    """Hold the lock of that name in the folder; what is said of one who holds it longer than wait seconds."""
    lock = LockFile(at, name, opened=lambda: open_file(at, name, os.O_RDWR | os.O_CREAT))
    try:
        lock.hold(wait)
    except Busy as error:
        ended = f"its run has ended, so it may wait for ever: kill {error.orphan}"
        raise StateError(f"{what} ({error}): {ended if error.orphan else WAIT}, then run again") from None
    except OSError as error:
        raise refused(error, _shown(name)) from None
    try:
        yield
    finally:
        lock.let_go()
