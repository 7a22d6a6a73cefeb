# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted file on its disk: read only where nobody else can write, and written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import errno_name
from ansible_collections.hpc.onboard.plugins.module_utils._core.files import write_draft
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_errors import (
    StoreDamaged,
    StoreLocked,
    StoreMissing,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_format import LARGEST

DRAFT, LOCK, OLD = ".{}.draft", ".{}.lock", "{}.old"
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
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
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._folder() as folder, _said("locked"):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(LOCK.format(self._name), flags, 0o600, dir_fd=folder)
        try:
            _wait(handle, self.path)
            with contextlib.suppress(OSError):
                os.listdir(self.path.parent)  # an NFS client may know stale names
            yield
        finally:
            os.close(handle)

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
        with self._folder() as folder:
            for name in (DRAFT.format(old), old):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
            _flush(folder)

    @contextmanager
    def _folder(self) -> Iterator[int]:
        """The folder, open, after it and all that it lies in were looked at."""
        parent = self.path.parent
        try:
            handle = os.open(parent, FOLDER)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise StoreMissing("there is none yet") from None
            raise StoreDamaged(
                f"the folder {parent} cannot be opened ({errno_name(error)}): it may be no link"
            ) from None
        try:
            _refuse(os.fstat(handle), str(parent), 0o700)
            for above in Path(os.path.realpath(parent)).parents:
                _refuse_above(os.stat(above), str(above))
            yield handle
        finally:
            os.close(handle)

    def _content(self, folder: int, name: str) -> bytes:
        try:
            handle = os.open(name, READ, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise StoreMissing("there is none yet") from None
            raise StoreDamaged(f"{self.path} cannot be opened ({errno_name(error)}): it may be no link") from None
        try:
            self._refuse_file(os.fstat(handle))
            with os.fdopen(handle, "rb", closefd=False) as stream:
                content = stream.read(LARGEST + 1)
        except OSError as error:
            raise StoreDamaged(f"{self.path} cannot be read ({errno_name(error)})") from None
        finally:
            os.close(handle)
        if len(content) > LARGEST:
            raise StoreDamaged(f"{self.path} is too large")
        return content

    def _refuse_file(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:  # 0: a writer has replaced it just now
            raise StoreDamaged(f"{self.path} is no plain file with one name")
        _refuse(found, str(self.path), 0o600)

    def _put(self, folder: int, name: str, content: bytes, check: Callable[[bytes], object]) -> None:
        """Draft, flush, read back, rename, flush."""
        draft = DRAFT.format(name)
        try:
            with _said("written"):
                write_draft(folder, draft, content, 0o600, {})
            back = self._content(folder, draft)
            if back != content:
                raise StoreDamaged(f"the disk did not keep what was written beside {self.path}; nothing was replaced")
            check(back)
            with _said("written"):
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        _flush(folder)


def _flush(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # which says that this file system cannot
            raise NotWritten(f"it was written, but the disk did not confirm it ({errno_name(error)})") from None


def _wait(handle: int, path: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise NotWritten(f"{path} cannot be locked ({errno_name(error)})") from None
            if time.monotonic() > end:
                raise StoreLocked(f"another process has been writing {path} for {PATIENCE:.0f} s") from None
            time.sleep(0.02)
        else:
            return


def _refuse(found: os.stat_result, shown: str, mode: int) -> None:
    """Whether it is ours alone."""
    if found.st_uid != os.geteuid():
        raise StoreDamaged(f"{shown} belongs to somebody else")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise StoreDamaged(f"others may use {shown}, which is for its owner alone: chmod {mode:o} {shown}")


def _refuse_above(found: os.stat_result, shown: str) -> None:
    """Whether others could swap what lies in this folder."""
    if found.st_uid not in (0, os.geteuid()):
        raise StoreDamaged(f"{shown}, in which it lies, belongs to somebody else")
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        raise StoreDamaged(f"others may write in {shown}, in which it lies: chmod go-w {shown}")


class NotWritten(Exception):
    """The disk did not take it; what was there is still there."""


@contextmanager
def _said(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotWritten(f"it could not be {what} ({errno_name(error)}); what was there is untouched") from None
