# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work that goes on by itself: one at a time, seen from outside, ended and gone on with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._jobs import job


class Work(job.Job):
    """Does what the test says, with the job as its argument."""

    def __init__(self, folder: Path, done: Callable[[Work], None]) -> None:
        super().__init__(str(folder))
        self._done = done

    def work(self) -> None:
        self._done(self)

    def begin(self) -> None:
        """Start it in the folder that its own belongs in."""
        above = os.open(self.parent, os.O_RDONLY)
        try:
            self.detach(above)
        finally:
            os.close(above)


def until(true: Callable[[], object], seconds: float = 10) -> None:
    """Wait for it."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "work"


def wait_for(file: Path) -> Callable[[Work], None]:
    """Work that says a step and waits until a file is there."""

    def done(work: Work) -> None:
        work.report("waiting", 1, 3)
        until(file.exists)

    return done


def test_it_is_seen_while_it_goes_on_and_gone_when_it_is_done(folder: Path, tmp_path: Path) -> None:
    assert job.read_progress(str(folder)) is None
    Work(folder, wait_for(tmp_path / "go")).begin()
    until(lambda: (job.read_progress(str(folder)) or {}).get("step") == "waiting")
    assert job.read_progress(str(folder)) == {"step": "waiting", "done": 1, "total": 3, "unit": "steps"}
    (tmp_path / "go").touch()
    until(lambda: not folder.exists())
    assert job.read_progress(str(folder)) is None


def test_it_outlives_who_started_it_and_holds_none_of_its_files(folder: Path, tmp_path: Path) -> None:
    """The starter runs in a session of its own, which is then killed whole; its output ends with it."""
    code = (
        "import sys; sys.path[:0] = sys.argv[3:]\n"
        "from ansible_collections.hpc.onboard.plugins.module_utils._jobs import job\n"
        "import time, os\n"
        "class Work(job.Job):\n"
        "    def work(self):\n"
        "        while not os.path.exists(sys.argv[2]): time.sleep(0.02)\n"
        "above = os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY)\n"
        "Work(sys.argv[1]).detach(above); print('begun', flush=True); time.sleep(60)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", code, str(folder), str(tmp_path / "go"), *sys.path],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == b"begun\n"
    os.killpg(starter.pid, signal.SIGHUP)
    os.killpg(starter.pid, signal.SIGKILL)
    assert starter.communicate(timeout=10)[0] == b"", "the job holds the connection's end"
    assert job.is_held(str(folder / job.LOCK))
    (tmp_path / "go").touch()
    until(lambda: not folder.exists())


def test_what_somebody_laid_where_its_words_go_is_not_written_through(folder: Path, tmp_path: Path) -> None:
    mine, names = tmp_path / "mine", ("progress.json", "progress.json.new", ".progress.json.hpc.onboard-draft", "mark")
    mine.write_text("precious")
    folder.mkdir(mode=0o700)
    for name in names:
        (folder / name).symlink_to(mine)
    Work(folder, wait_for(tmp_path / "go")).begin()
    until(lambda: (job.read_progress(str(folder)) or {}).get("step") == "waiting")
    assert mine.read_text() == "precious"
    (tmp_path / "go").touch()
    until(lambda: not folder.exists())
    assert mine.read_text() == "precious"


@pytest.mark.parametrize("laid", ["a folder open to others", "a link to one of mine"])
def test_what_was_laid_in_place_of_its_folder_is_refused_and_kept(folder: Path, tmp_path: Path, laid: str) -> None:
    """In a shared area a colleague may have made it before us."""
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    (other / "making").write_text("precious")
    if laid == "a link to one of mine":
        folder.symlink_to(other)
    else:
        other.chmod(0o755)
        other = other.rename(folder)
    with pytest.raises(AccountError, match=r"was not created by hpc-onboard|ENOTDIR|ELOOP"):
        Work(folder, lambda _work: None).begin()
    assert [(path.name, path.read_text()) for path in other.iterdir()] == [("making", "precious")]


def test_a_second_one_is_not_started_beside_it(folder: Path, tmp_path: Path) -> None:
    starts = tmp_path / "starts"

    def done(_work: Work) -> None:
        with starts.open("a") as stream:
            stream.write("x")
        until((tmp_path / "go").exists)

    for _number in range(5):
        Work(folder, done).begin()
    until(starts.exists)
    time.sleep(0.2)
    (tmp_path / "go").touch()
    until(lambda: not folder.exists())
    assert starts.read_text() == "x"


def raising(error: Exception) -> Callable[[Work], None]:
    """Work that fails."""

    def done(_work: Work) -> None:
        raise error

    return done


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (AccountError("the installer ended"), {"failed": "the installer ended", "wants": {}}),
        (job.JobFailed("no way out", {"url": "u"}), {"failed": "no way out", "wants": {"url": "u"}}),
        (OSError(28, "secret words"), "ENOSPC"),
        (ValueError("secret words"), "a bug in hpc.onboard: ValueError in test_job.py"),
    ],
)
def test_why_it_failed_is_left_for_who_looks(folder: Path, error: Exception, said: object) -> None:
    Work(folder, raising(error)).begin()
    until(lambda: "failed" in (job.read_progress(str(folder)) or {}))
    progress = job.read_progress(str(folder)) or {}
    assert progress == said if isinstance(said, dict) else str(said) in progress["failed"]
    assert "secret" not in str(progress)


@pytest.mark.parametrize("laid", ["pipe", "link", "folder", "[1]", "[[[[", "7"])
def test_what_lies_where_its_words_belong_is_not_waited_for(folder: Path, tmp_path: Path, laid: str) -> None:
    folder.mkdir(0o700)
    place = folder / job.PROGRESS
    {
        "pipe": lambda: os.mkfifo(place),
        "link": lambda: place.symlink_to(tmp_path),
        "folder": place.mkdir,
    }.get(laid, lambda: place.write_text(laid))()
    begun = time.monotonic()
    assert "the job's progress cannot be read" in str(job.read_progress(str(folder)))
    assert time.monotonic() - begun < 30


def test_one_that_was_killed_is_said_to_be_ended_from_outside_and_its_programs_are_ended(folder: Path) -> None:
    def done(work: Work) -> None:
        work.report("working")
        subprocess.call(["sleep", "600.25"], env={**os.environ, job.MARK: work.mark})

    Work(folder, done).begin()
    until(lambda: _sleepers())
    holder = _holder(folder)
    os.kill(holder, signal.SIGKILL)
    until(lambda: not job.is_held(str(folder / job.LOCK)))
    assert job.read_progress(str(folder)) == {"failed": job.KILLED_TEXT}
    assert _sleepers()
    Work(folder, lambda _work: None).begin()
    until(lambda: not folder.exists())
    assert not _sleepers()


def _sleepers() -> list[int]:
    return [
        int(path.name)
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and b"sleep\x00600.25" in _read(path / "cmdline")
    ]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _holder(folder: Path) -> int:
    """The process that has the lock file open."""
    inode = (folder / job.LOCK).stat().st_ino
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            try:
                if any(handle.stat().st_ino == inode for handle in (path / "fd").iterdir()):
                    return int(path.name)
            except OSError:
                continue
    raise AssertionError("nobody holds it")


def test_a_folder_that_cannot_be_made_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(AccountError, match="locking"):
        Work(tmp_path / "file" / "work", lambda _work: None).begin()
