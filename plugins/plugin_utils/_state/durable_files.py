# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in the state folder that survive a crash and that no other user can change.

The folder (XDG base directories) has mode 0700, its files have 0600. A file is a regular file with a single hard link,
never a symbolic link; a lock is a file that stays. Two modules of the engine, the program that runs on accounts, write
and lock files here too: files.py and lock_file.py. This module turns their errors into StateError, a sentence with the
next step.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...module_utils._core import files
from ...module_utils._core.errors import AccountError, errno_name
from ...module_utils._core.lock_file import LockBusy, LockFile
from .fingerprint_key import make_private, state_folder

LARGEST = 64 * 1024 * 1024  # bytes
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class StateError(AccountError):
    """State cannot be read or stored on this machine. The text says why, and what to do."""


def make_state_error(error: OSError, path: str) -> StateError:
    """Return the StateError for an OSError at the path."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):  # O_NOFOLLOW met a link, or O_DIRECTORY met a file
        return StateError(
            f"{path} is a symbolic link or not a folder, so hpc-onboard does not store its state there. "
            "Rename or move it, then try again"
        )
    reason = errno_name(error)
    return StateError(f"could not read or write {path} ({reason}). Check permissions and free space, then try again")


@contextmanager
def as_state_error(name: str) -> Iterator[None]:
    """Turn an OSError of the block into a StateError. name: the file or folder, below the state folder."""
    try:
        yield
    except OSError as error:
        raise make_state_error(error, _describe_place(name)) from None


@contextmanager
def open_folder(below: str = "", create: bool = True) -> Iterator[int]:
    """Open the state folder, or its subfolder of the name `below`. Yield its descriptor.

    If the folder is missing, create it; without `create`, yield -1. Raise StateError.
    """
    base = state_folder()
    handle = -1
    try:
        if create:
            _create_parents(base.parent)
        if base.parent.is_dir():
            check_parents(Path(os.path.realpath(base.parent)))
            handle = _open_private(str(base), parent=None, create=create, display_path=str(base))
            if below and handle >= 0:
                base_handle, handle = handle, -1  # if the next call fails, nothing is left to close at the end
                try:
                    handle = _open_private(below, base_handle, create, display_path=str(base / below))
                finally:
                    os.close(base_handle)
        yield handle
    finally:
        if handle >= 0:
            os.close(handle)


def _create_parents(path: Path) -> None:
    """Create a folder and the missing folders above it. Raise StateError."""
    try:
        make_private(path)
    except OSError as error:
        raise make_state_error(error, str(error.filename)) from None


def check_parents(path: Path) -> None:
    """Raise StateError if another user could replace the folder or a folder above it. (OpenSSH has the same rule.)"""
    for folder in [*reversed(path.parents), path]:
        # target="": no folder is a link, because callers resolve the path
        reason = files.why_unsafe(files.to_entry(folder.lstat(), target=""), str(folder))
        if reason:
            raise StateError(reason)


def _open_private(name: str, parent: int | None, create: bool, display_path: str) -> int:
    """Return the descriptor of a private folder; -1 if the folder is missing and not to be created. Raise StateError.

    parent: the descriptor of the folder above it; None if name is an absolute path. display_path: the path in errors.
    """
    try:
        if create:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=parent)
        handle = os.open(name, FOLDER_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        return -1
    except OSError as error:
        raise make_state_error(error, display_path) from None
    try:
        check_private(os.fstat(handle), display_path, 0o700)
    except StateError:
        os.close(handle)
        raise
    return handle


def check_private(entry: os.stat_result, display_path: str, mode: int) -> None:
    """Raise StateError unless only this user can access a file or folder. entry: its stat result.

    display_path: its path in errors. mode: the mode that the error recommends.
    """
    if entry.st_uid != os.getuid():
        raise StateError(f"{display_path} belongs to another user, so hpc-onboard does not trust it: rename or move it")
    if entry.st_mode & 0o077:
        actual = f"{entry.st_mode & 0o7777:04o}"
        raise StateError(f"other users can access {display_path} (mode {actual}). Change its mode with chmod {mode:o}")


def _describe_place(name: str) -> str:
    """Return the text that names a file or folder below the state folder in errors. name: its relative path."""
    return f"{name} in {state_folder()}"


def open_file(folder: int, name: str, flags: int, display_path: str = "") -> int:
    """Open a private regular file with a single hard link, and return its descriptor.

    folder: the descriptor of its folder. flags: of os.open. display_path: the path in errors, required if the folder is
    not the state folder. Raise StateError, or FileNotFoundError.
    """
    display_path = display_path or _describe_place(name)
    try:
        handle = os.open(name, flags | FILE_FLAGS, 0o600, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise make_state_error(error, display_path) from None
    try:
        entry = os.fstat(handle)
        if not stat.S_ISREG(entry.st_mode) or entry.st_nlink > 1:  # 0 is fine: a writer has just replaced the file
            raise StateError(f"{display_path} is not a regular file with a single hard link: rename or move it")
        check_private(entry, display_path, 0o600)
    except StateError:
        os.close(handle)
        raise
    return handle


def read_file(folder: int, name: str, largest: int = LARGEST, display_path: str = "") -> bytes | None:
    """Return the content of a private file, or None if the file is missing. Raise StateError.

    folder: the descriptor of its folder. largest: the limit in bytes. display_path: see open_file().
    """
    try:
        handle = open_file(folder, name, os.O_RDONLY, display_path)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as stream:
        content = stream.read(largest + 1)
    if len(content) > largest:
        raise StateError(f"{display_path or name} is too large (limit: {largest // 1024} KiB): rename or move it")
    return content


def replace_file(folder: int, name: str, content: bytes) -> None:
    """Replace the whole content of a private file, or leave the old content and raise StateError.

    folder: the descriptor of its folder.
    """
    read_file(folder, name)  # raises StateError for a file that must not be replaced, such as a link
    try:
        files.replace(folder, name, content, mode=0o600, attributes={})
    except files.NotKept:  # the file, read again, has other content
        raise StateError(f"another program changed {name} at the same time. Try again") from None
    except OSError as error:
        raise make_state_error(error, _describe_place(name)) from None


@contextmanager
def hold_lock(folder: int, name: str, holder: str, wait_seconds: float) -> Iterator[None]:
    """Hold the lock file of that name while the block runs. Raise StateError if another process holds it too long.

    folder: the descriptor of its folder. holder: description of the other process, which begins the error.
    wait_seconds: the longest wait.
    """
    lock = LockFile(folder, name, opener=lambda: open_file(folder, name, os.O_RDWR | os.O_CREAT))
    try:
        lock.acquire(wait_seconds)
    except LockBusy as error:
        advice = "Wait until this process has finished, or end it, then try again"
        if error.orphan:  # the id of a worker process whose run has ended, so that it would never finish
            advice = f"The run that started process {error.orphan} has ended. Run `kill {error.orphan}`, then try again"
        raise StateError(f"{holder} ({error}). {advice}") from None
    except OSError as error:
        raise make_state_error(error, _describe_place(name)) from None
    try:
        yield
    finally:
        lock.release()
