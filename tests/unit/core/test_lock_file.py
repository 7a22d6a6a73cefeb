# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One process at a time holds a lock file, also where the file system knows no locks, or has a stale handle."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core import lock_file
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.lock_file import LockBusy, LockFile

ROUNDS = 40


@pytest.fixture(params=["fcntl", errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP], ids=str)
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a file system with locks, or without them."""

    def no_locks(*_words: Any) -> None:
        raise OSError(request.param, "")

    if request.param != "fcntl":
        monkeypatch.setattr(fcntl, "lockf", no_locks)
    return tmp_path


def lock(folder: Path) -> LockFile:
    return LockFile(str(folder), "lock", stays=False)


def test_one_holds_it_and_nothing_is_left(folder: Path) -> None:
    first = lock(folder)
    first.acquire(1)
    other = os.fork()  # fcntl's locks belong to a process
    if other == 0:
        try:
            lock(folder).acquire(0)
        except LockBusy:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) == 7
    first.release()
    lock(folder).acquire(0)


def a_pipe(path: Path) -> None:
    """A named pipe, which nobody writes into."""
    os.mkfifo(path)


def a_colleagues(path: Path) -> None:
    """A file of somebody else's that all may write."""
    path.touch()
    path.chmod(0o666)
    os.chown(path, 4321, 4321)


def another_name(path: Path) -> None:
    """A further name of a file of mine."""
    path.with_name("precious").write_text("precious")
    os.link(path.with_name("precious"), path)


@pytest.mark.parametrize("laid", [a_pipe, a_colleagues, another_name])
def test_what_is_no_lock_of_ours_is_refused_at_once_and_left(
    folder: Path, laid: Callable[[Path], None], request: pytest.FixtureRequest
) -> None:
    if laid is a_colleagues and os.getuid() != 0:
        pytest.skip("only root makes a file of somebody else's")
    name = "lock" if request.node.callspec.params["folder"] == "fcntl" else "lock.held"
    laid(folder / name)
    begun = time.monotonic()
    with pytest.raises(AccountError, match=f"^{folder / name} is not a lock file that you own: rename or move it"):
        lock(folder).acquire(60)
    assert time.monotonic() - begun < 30, "it was waited for"
    assert (folder / "precious").read_text() == "precious" if laid is another_name else (folder / name).exists()


def test_no_update_is_lost_between_processes(folder: Path) -> None:
    count = folder / "count"
    count.write_text("0")
    workers = []
    for _worker in range(4):
        worker = os.fork()
        if worker == 0:
            for _round in range(ROUNDS):
                one = lock(folder)
                one.acquire(60)
                count.write_text(str(int(count.read_text()) + 1))
                one.release()
            os._exit(0)
        workers.append(worker)
    assert [os.waitpid(worker, 0)[1] for worker in workers] == [0] * 4
    assert count.read_text() == str(4 * ROUNDS)
    assert os.listdir(folder) == ["count"]


def test_the_lock_of_a_dead_process_is_taken_over(folder: Path) -> None:
    worker = os.fork()
    if worker == 0:
        lock(folder).acquire(0)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(worker, 0)
    one = lock(folder)
    one.acquire(5)
    one.release()
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    ("words", "who"),
    [
        ("login7 boot 4242\n", "login7, process 4242, 3 hours ago"),
        ("half", "unknown process, 3 hours ago"),
        ("", "unknown process, 3 hours ago"),
    ],
)
@pytest.mark.parametrize("folder", [errno.ENOLCK], indirect=True)
def test_the_lock_of_another_machine_is_left_alone_and_named_with_what_removes_it(
    folder: Path, words: str, who: str
) -> None:
    held = folder / "lock.held"
    held.write_text(words)
    os.utime(held, (time.time() - 3.5 * 3600,) * 2)
    with pytest.raises(LockBusy) as refused:
        lock(folder).acquire(0.2)
    assert str(refused.value) == f"{who}; if that process has ended, run: rm {held}"
    assert os.listdir(folder) == ["lock.held"], "the file of the one that waited stays"
    assert held.read_text() == words


@pytest.mark.parametrize(("seconds", "age"), [(59, "0 minutes"), (90, "1 minute"), (150, "2 minutes")])
@pytest.mark.parametrize("folder", [errno.ENOLCK], indirect=True)
def test_the_age_is_in_the_singular_or_plural(folder: Path, seconds: int, age: str) -> None:
    (folder / "lock.held").touch()
    os.utime(folder / "lock.held", (time.time() - seconds,) * 2)
    with pytest.raises(LockBusy, match=f"^unknown process, {age} ago; "):
        lock(folder).acquire(0)


@pytest.mark.parametrize("folder", [errno.ENOLCK], indirect=True)
def test_a_full_disk_leaves_no_second_file_without_its_owner(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match=r"EFBIG|too large"):
            lock(folder).acquire(0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (folder / "lock.held").exists()
    lock(folder).acquire(0)


@pytest.mark.parametrize("folder", [errno.ENOLCK], indirect=True)
def test_the_lock_of_a_former_boot_is_taken_over(folder: Path) -> None:
    (folder / "lock.held").write_text(f"{os.uname().nodename} former {os.getpid()}")
    lock(folder).acquire(5)


def test_a_stale_handle_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: Iterator[bool] = iter([True] * 3)
    real = os.open

    def stale(path: Any, *words: Any, **named: Any) -> int:
        if str(path).endswith("lock") and next(left, False):
            raise OSError(errno.ESTALE, "")
        return real(path, *words, **named)

    monkeypatch.setattr(lock_file.os, "open", stale)
    lock(tmp_path).acquire(5)
