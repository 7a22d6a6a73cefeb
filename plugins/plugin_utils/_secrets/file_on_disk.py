# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted file on the disk: read only if no other user can write it, and written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...module_utils._core import files
from ...module_utils._core.errors import AccountError, errno_name
from ...module_utils._core.lock_file import LockBusy, LockFile
from .._state import durable_files
from .._state.fingerprint_key import make_private
from .file_errors import NotWritten, StoreDamaged, StoreLocked, StoreMissing
from .file_format import LARGEST

LOCK = ".{}.lock"
WAIT_SECONDS = 30.0  # who holds the lock asks no questions


class KeyFile:
    """One file in a folder of this user's alone, with a lock."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.abspath(path))
        self._name = self.path.name

    def read(self) -> bytes:
        """Return the content. Raises StoreMissing if there is no file, StoreDamaged if it cannot be trusted."""
        with self._open_folder() as folder:
            return self._read(folder, self._name)

    def exists(self) -> bool:
        """Return True if anything has the file's name."""
        return os.path.lexists(self.path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock out other writers. Creates the folder if there is none."""
        with _disk_errors("created"):
            make_private(self.path.parent)
        with self._open_folder() as folder:
            lock = LockFile(folder, LOCK.format(self._name))
            try:
                with _disk_errors("locked"):
                    lock.acquire(WAIT_SECONDS)
            except LockBusy as error:
                raise StoreLocked(
                    f"another process has been writing to {self.path} for {WAIT_SECONDS:.0f} s ({error}): wait or "
                    f"end it, then run again"
                ) from None
            try:
                yield
            finally:
                lock.release()

    def write(self, content: bytes, check: Callable[[bytes], object]) -> None:
        """Replace the content, under lock(). check: gets what was read back before it replaces the old; may raise."""

        def check_draft(draft: str) -> None:
            back = self._read(folder, draft)
            if back != content:
                raise StoreDamaged(f"the disk did not store the new content of {self.path}; the old file is unchanged")
            check(back)

        with self._open_folder() as folder:
            try:
                with _disk_errors("written"):
                    files.replace(folder, self._name, content, 0o600, {}, check_draft)
            except files.NotKept:
                raise StoreDamaged(
                    f"{self.path} does not contain what was just written: does another program write it?"
                ) from None

    @contextmanager
    def _open_folder(self) -> Iterator[int]:
        """Yield the open folder, after checking that no other user can change it or what it is in."""
        parent = self.path.parent
        try:
            handle = os.open(parent, durable_files.FOLDER)
        except FileNotFoundError:
            raise StoreMissing("the file does not exist yet") from None
        except OSError as error:
            raise StoreDamaged(
                f"the folder {parent} cannot be opened ({errno_name(error)}): it must not be a link"
            ) from None
        try:
            durable_files.check_private(os.fstat(handle), str(parent), 0o700)
            durable_files.check_parents(Path(os.path.realpath(parent)).parent)
            yield handle
        except durable_files.StateError as error:
            raise StoreDamaged(str(error)) from None
        finally:
            os.close(handle)

    def _read(self, folder: int, name: str) -> bytes:
        try:
            content = durable_files.read_file(folder, name, LARGEST, str(self.path))
        except OSError as error:
            raise StoreDamaged(f"{self.path} cannot be read ({errno_name(error)})") from None
        if content is None:
            raise StoreMissing("the file does not exist yet")
        return content


@contextmanager
def _disk_errors(what: str) -> Iterator[None]:
    """Raise NotWritten, which says what is there now, for an error of the disk. what: what could not be done."""
    try:
        yield
    except (files.NotKept, durable_files.StateError):
        raise
    except AccountError as error:  # of the lock
        raise NotWritten(str(error)) from None
    except files.Unconfirmed as error:
        raise NotWritten(
            f"the file was written, but the disk did not confirm that it is stored ({errno_name(error)})"
        ) from None
    except OSError as error:
        raise NotWritten(f"the file could not be {what} ({errno_name(error)}); the old content is unchanged") from None
