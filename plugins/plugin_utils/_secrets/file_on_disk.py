# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the encrypted file if no other user can write to it, and replace its content completely or not at all."""

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

LOCK = ".{}.lock"  # name of the lock file, from the name of the locked file
WAIT_SECONDS = 30.0  # long enough: a process never prompts while it holds the lock


class KeyFile:
    """One file with a lock, in a folder that only this user can access."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.abspath(path))
        self._name = self.path.name

    def read(self) -> bytes:
        """Return the content. Raise StoreMissing if the file does not exist, StoreDamaged if it cannot be trusted."""
        with self._open_folder() as folder:
            return self._read(folder, self._name)

    def exists(self) -> bool:
        """Return True if the path exists, even as a broken link."""
        return os.path.lexists(self.path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the file for writing. Create its folder if it does not exist."""
        with _as_not_written("created"):
            make_private(self.path.parent)
        with self._open_folder() as folder:
            lock = LockFile(folder, LOCK.format(self._name))
            try:
                with _as_not_written("locked"):
                    lock.acquire(WAIT_SECONDS)
            except LockBusy as error:
                raise StoreLocked(
                    f"another process has been writing to {self.path} for {WAIT_SECONDS:.0f} s ({error}). Wait for "
                    f"that process, or end it, then try again"
                ) from None
            try:
                yield
            finally:
                lock.release()

    def write(self, content: bytes, check: Callable[[bytes], object]) -> None:
        """Replace the content, under lock(). check: gets the new content, as read from the disk; may raise StoreError.

        If it does, the old content stays.
        """

        def check_draft(draft: str) -> None:
            """Raise StoreDamaged if the draft file, read from the disk, differs from the content. draft: its name."""
            stored = self._read(folder, draft)
            if stored != content:
                raise StoreDamaged(f"the disk did not store the new content of {self.path}; the old file is unchanged")
            check(stored)

        with self._open_folder() as folder:
            try:
                with _as_not_written("written"):
                    files.replace(folder, self._name, content, mode=0o600, attributes={}, check=check_draft)
            except files.NotKept:
                raise StoreDamaged(
                    f"{self.path} does not contain the text that was just written. Another "
                    "program may be writing to the file"
                ) from None

    @contextmanager
    def _open_folder(self) -> Iterator[int]:
        """Yield the open folder. Raise StoreDamaged if another user could change the folder or one above it."""
        parent = self.path.parent
        try:
            handle = os.open(parent, durable_files.FOLDER_FLAGS)
        except FileNotFoundError:
            raise StoreMissing("the file does not exist yet") from None
        except OSError as error:
            raise StoreDamaged(
                f"the folder {parent} cannot be opened ({errno_name(error)}). The folder must not be a symbolic link"
            ) from None
        try:
            durable_files.check_private(os.fstat(handle), str(parent), mode=0o700)
            durable_files.check_parents(Path(os.path.realpath(parent)).parent)
            yield handle
        except durable_files.StateError as error:
            raise StoreDamaged(str(error)) from None
        finally:
            os.close(handle)

    def _read(self, folder: int, name: str) -> bytes:
        """Return the content of the file or its draft. folder: the open folder. Raise StoreMissing, StoreDamaged."""
        try:
            content = durable_files.read_file(folder, name, LARGEST, str(self.path))
        except OSError as error:
            raise StoreDamaged(f"{self.path} cannot be read ({errno_name(error)})") from None
        if content is None:
            raise StoreMissing("the file does not exist yet")
        return content


@contextmanager
def _as_not_written(action: str) -> Iterator[None]:
    """Turn an error of the block into NotWritten, which says what the file contains now.

    action: a participle for the message, such as "written". StateError and NotKept pass: their callers handle them.
    """
    try:
        yield
    except (files.NotKept, durable_files.StateError):
        raise
    except AccountError as error:  # raised by the lock
        raise NotWritten(str(error)) from None
    except files.Unconfirmed as error:
        raise NotWritten(
            f"the file was written, but the disk did not confirm that it is stored ({errno_name(error)})"
        ) from None
    except OSError as error:
        raise NotWritten(
            f"the file could not be {action} ({errno_name(error)}); the old content is unchanged"
        ) from None
