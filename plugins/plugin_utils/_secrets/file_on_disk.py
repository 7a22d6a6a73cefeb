# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted file on its disk: read only where nobody else can write, and written whole or not at all."""

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
from .file_errors import StoreDamaged, StoreLocked, StoreMissing
from .file_format import LARGEST

LOCK, OLD = ".{}.lock", "{}.old"
PATIENCE = 30.0  # seconds; who holds the lock asks nobody anything


class KeyFile:
    """One file in a folder of its owner's alone, with a lock and, while a passphrase changes, the old one beside it."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.abspath(path))
        self._name = self.path.name

    def read(self) -> bytes:
        """What it holds. Raises StoreMissing where there is none, StoreDamaged where it cannot be trusted."""
        with self._folder() as folder:
            return self._content(folder, self._name)

    def exists(self) -> bool:
        """Whether anything has its name."""
        return os.path.lexists(self.path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other writers out. Makes the folder if there is none."""
        with _said("made"):
            make_private(self.path.parent)
        with self._folder() as folder:
            lock = LockFile(folder, LOCK.format(self._name))
            try:
                with _said("locked"):
                    lock.acquire(PATIENCE)
            except LockBusy as error:
                raise StoreLocked(
                    f"another process has been writing {self.path} for {PATIENCE:.0f} s ({error})"
                ) from None
            try:
                yield
            finally:
                lock.release()

    def write(self, content: bytes, check: Callable[[bytes], object]) -> None:
        """Put new content in place, under held(). check is given what can be read back of it, and raises."""
        with self._folder() as folder:
            self._put(folder, self._name, content, check)

    def keep_old(self, content: bytes) -> None:
        """Put the old content beside it while it is replaced."""
        with self._folder() as folder:
            self._put(folder, OLD.format(self._name), content, lambda back: None)

    def forget_old(self) -> None:
        """Take away the old content, half of it too: its passphrase must open nothing any more."""
        old = OLD.format(self._name)
        with self._folder() as folder, _said("taken away"):
            for name in (files.DRAFT % old, old):
                files.unlink_if_present(folder, name)
            files.flush(folder)

    @contextmanager
    def _folder(self) -> Iterator[int]:
        """The folder, open, after it and all that it lies in were looked at."""
        parent = self.path.parent
        try:
            handle = os.open(parent, durable_files.FOLDER)
        except FileNotFoundError:
            raise StoreMissing("there is none yet") from None
        except OSError as error:
            raise StoreDamaged(
                f"the folder {parent} cannot be opened ({errno_name(error)}): it may be no link"
            ) from None
        try:
            with _trusted():
                durable_files.check_private(os.fstat(handle), str(parent), 0o700)
                durable_files.check_parents(Path(os.path.realpath(parent)).parent)
            yield handle
        finally:
            os.close(handle)

    def _content(self, folder: int, name: str) -> bytes:
        try:
            with _trusted():
                content = durable_files.read_file(folder, name, LARGEST, str(self.path))
        except OSError as error:
            raise StoreDamaged(f"{self.path} cannot be read ({errno_name(error)})") from None
        if content is None:
            raise StoreMissing("there is none yet")
        return content

    def _put(self, folder: int, name: str, content: bytes, check: Callable[[bytes], object]) -> None:
        """Replace the file, if what lies on the disk can be read as what it should be."""

        def readable(draft: str) -> None:
            back = self._content(folder, draft)
            if back != content:
                raise StoreDamaged(f"the disk did not keep what was written beside {self.path}; nothing was replaced")
            check(back)

        try:
            with _said("written"):
                files.replace(folder, name, content, 0o600, {}, readable)
        except files.NotKept:
            raise StoreDamaged(
                f"{self.path} does not hold what was just written: is another program at work?"
            ) from None


class NotWritten(Exception):
    """The disk did not take it; what was there is still there."""


@contextmanager
def _said(what: str) -> Iterator[None]:
    """An error of the disk becomes one that says what is there now."""
    try:
        yield
    except (files.NotKept, durable_files.StateError):
        raise
    except AccountError as error:  # of the lock
        raise NotWritten(str(error)) from None
    except files.Unconfirmed as error:
        raise NotWritten(f"it was written, but the disk did not confirm it ({errno_name(error)})") from None
    except OSError as error:
        raise NotWritten(f"it could not be {what} ({errno_name(error)}); what was there is untouched") from None


@contextmanager
def _trusted() -> Iterator[None]:
    """What cannot be trusted of records cannot be of keys."""
    try:
        yield
    except durable_files.StateError as error:
        raise StoreDamaged(str(error)) from None
