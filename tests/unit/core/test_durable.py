# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one writer and the one lock: a file is replaced whole or not at all, and one process holds a lock."""

from __future__ import annotations

import os
import resource
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.files import DRAFT, NotKept, replace
from ansible_collections.hpc.onboard.plugins.module_utils._core.lock_file import LockBusy, LockFile, is_held
from forked import child


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    handle = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield handle
    os.close(handle)


def test_a_file_has_its_mode_whatever_the_umask_and_no_draft_is_left(tmp_path: Path, folder: int) -> None:
    before = os.umask(0)
    try:
        replace(folder, "a", b"new", 0o640, {})
    finally:
        os.umask(before)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert os.listdir(folder) == ["a"]


def test_what_the_check_refuses_leaves_the_old_file_and_no_draft(tmp_path: Path, folder: int) -> None:
    (tmp_path / "a").write_bytes(b"old")
    shown = []

    def refuse(draft: str) -> None:
        shown.append((tmp_path / draft).read_bytes())
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        replace(folder, "a", b"new", 0o600, {}, refuse)
    assert shown == [b"new"]
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(folder) == ["a"]


def test_a_disk_that_takes_half_leaves_the_old_file_and_no_draft(tmp_path: Path, folder: int) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def write() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        with pytest.raises(OSError, match="File too large"):
            replace(folder, "a", b"x" * 10_000, 0o600, {})

    assert os.waitpid(child(write), 0)[1] == 0
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(folder) == ["a"]


@pytest.mark.parametrize("planted", ["a", DRAFT % "a"])
def test_a_link_is_replaced_and_not_followed(tmp_path: Path, folder: int, planted: str) -> None:
    (tmp_path / "mine").write_bytes(b"precious")
    (tmp_path / planted).symlink_to("mine")
    replace(folder, "a", b"new", 0o600, {})
    assert (tmp_path / "mine").read_bytes() == b"precious"
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"new"


def test_what_another_program_wrote_in_between_is_not_called_kept(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = os.fsync

    def overwritten(handle: int) -> None:
        flush(handle)
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            (tmp_path / "a").write_bytes(b"theirs, and longer")

    monkeypatch.setattr(os, "fsync", overwritten)
    with pytest.raises(NotKept):
        replace(folder, "a", b"theirs", 0o600, {})


@pytest.mark.parametrize("by_path", [True, False])
@pytest.mark.parametrize("stays", [True, False])
def test_a_lock_says_who_holds_it_and_since_when(tmp_path: Path, folder: int, by_path: bool, stays: bool) -> None:
    def lock() -> LockFile:
        return LockFile(str(tmp_path) if by_path else folder, "lock", stays)

    reader, writer = os.pipe()

    def hold() -> None:
        lock().acquire(0)
        os.write(writer, b"!")
        time.sleep(60)

    pid = child(hold)
    os.read(reader, 1)
    os.utime(tmp_path / "lock", (time.time() - 300, time.time() - 300))
    assert is_held(str(tmp_path / "lock"))
    with pytest.raises(LockBusy, match=rf"^{os.uname().nodename}, process {pid}, since .*, 5 minutes ago$"):
        lock().acquire(0.1)
    assert not lock().try_acquire()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    after = lock()
    after.acquire(0)
    assert f"process {os.getpid()}," in (tmp_path / "lock").read_text()
    after.release()
    assert (tmp_path / "lock").exists() == stays
    after.release()


def test_a_lock_says_that_the_parent_of_who_holds_it_has_ended(tmp_path: Path) -> None:
    reader, writer = os.pipe()

    def hold() -> None:
        if os.fork():
            time.sleep(60)
        LockFile(str(tmp_path), "lock").acquire(0)
        os.write(writer, b"%d " % os.getpid())
        time.sleep(60)

    parent = child(hold)
    orphan = int(os.read(reader, 20))
    with pytest.raises(LockBusy) as while_it_lives:
        LockFile(str(tmp_path), "lock").acquire(0)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    with pytest.raises(LockBusy) as then:
        LockFile(str(tmp_path), "lock").acquire(0)
    os.kill(orphan, signal.SIGKILL)
    assert (while_it_lives.value.orphan, then.value.orphan) == (0, orphan)


def test_what_a_stranger_wrote_into_a_lock_moves_no_cursor(tmp_path: Path) -> None:
    reader, writer = os.pipe()

    def hold() -> None:
        LockFile(str(tmp_path), "lock").try_acquire()
        handle = os.open(tmp_path / "lock", os.O_WRONLY)
        os.write(handle, b"\x1b[2Jme\n")
        os.write(writer, b"!")
        time.sleep(60)  # the handle stays open: closing it would free the lock

    pid = child(hold)
    os.read(reader, 1)
    with pytest.raises(LockBusy, match=r"^\?\[2Jme, 0 minutes ago$"):
        LockFile(str(tmp_path), "lock").acquire(0)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
