# SPDX-License-Identifier: GPL-3.0-or-later
"""A colleague in a shared area who never stops: he lays what he likes under every name of ours, and takes it away.

Two user ids, one folder that both may write in. His baits take turns under the names that an operation of ours uses:
a link to our private folder, a link to our keys, a folder of his own that is open to all, and our own private folder,
which he may rename though he may not look into it. What may never change is held open by root, and compared.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import signal
import stat
import struct
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

VICTIM, COLLEAGUE = 54321, 54322
EXCHANGE, NOREPLACE = 2, 1
HERE = -100
DUMPABLE = 4
CONDA = ".c.hpc.onboard"  # where a job of conda's has what it fetched
IMPORT = ".nvcr.io+a+b+1.import"  # likewise of an import
NAMES = (
    "a",
    "l",
    "bin",
    "new",
    "c",
    CONDA,
    IMPORT,
    ".config",
)  # in every bait lies something of the names that are ours
TRAP = "#!/bin/sh\ntouch %s\n"
TRAPS = ("c/bin/conda", f"{CONDA}/installer.sh")  # what would be run, if anything of his were
OURS = "the private folder in the area"
LIBC = ctypes.CDLL(None, use_errno=True)


class Area(NamedTuple):
    """The folders of one attack."""

    top: Path
    shared: Path
    home: Path
    watched: dict[str, int]  # what may not change, held open
    ours: str  # the one of them that is ours in the shared area: a colleague may give it the name that is meant

    handle: int  # the account's own folder in the shared area, open

    @property
    def mine(self) -> Path:
        """The account's own folder in the shared area."""
        return self.shared / "me"


@contextmanager
def area() -> Iterator[Area]:
    """A shared area with the baits laid out, and a home with what is nobody else's."""
    top = Path(tempfile.mkdtemp(prefix="swap"))
    top.chmod(0o755)
    shared, home = top / "shared", top / "home"
    shared.mkdir()
    shared.chmod(0o777)
    for folder in (home, shared / "me"):
        folder.mkdir()
        os.chown(folder, VICTIM, VICTIM)
    watched = {
        "the private folder of the home": _filled(home / "private", VICTIM, 0o700, True),
        OURS: _filled(shared / "private", VICTIM, 0o700, False),
        "the colleague's folder": _trapped(_filled(shared / "theirs", COLLEAGUE, 0o777, True), home / "private/caught"),
    }
    for name, target in (("to-private", home / "private"), ("to-file", home / "private/canary")):
        (shared / name).symlink_to(target)
        os.chown(shared / name, COLLEAGUE, COLLEAGUE, follow_symlinks=False)
    held = {name: os.open(path, os.O_RDONLY) for name, path in watched.items()}
    mine = os.open(shared / "me", os.O_RDONLY)
    try:
        yield Area(top, shared, home, held, OURS, mine)
    finally:
        for handle in (mine, *held.values()):
            os.close(handle)
        shutil.rmtree(top)


def _filled(folder: Path, uid: int, mode: int, names: bool) -> Path:
    """A folder that holds a canary, and where names is true, what bears the names of ours."""
    folder.mkdir()
    (folder / "canary").write_text("mine")
    for name in NAMES if names else ():
        (folder / name).mkdir()
        (folder / name / "x").write_text("mine")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, uid, uid)
        path.chmod(0o600 if path.is_file() else mode)
    return folder


def _trapped(folder: Path, mark: Path) -> Path:
    """A folder with programs of the colleague's: whoever runs one leaves a mark."""
    for name in TRAPS:
        trap = folder / name
        trap.parent.mkdir(exist_ok=True)
        trap.write_text(TRAP % mark)
        for path in (trap, trap.parent):
            os.chown(path, COLLEAGUE, COLLEAGUE)
            path.chmod(0o755)
    return folder


class Node(NamedTuple):
    """What lies in a folder that is watched."""

    mode: int  # with its kind
    owner: int
    content: bytes
    changed: int  # when a name was last made or removed in it; a name may have been there for a moment only


Contents = dict[str, Node]


def contents(handle: int) -> Contents:
    """Everything in an open folder."""
    found = {".": _node(os.fstat(handle), b"")}
    for path, folders, names, inside in os.fwalk(".", dir_fd=handle):
        for name in folders + names:
            there = os.stat(name, dir_fd=inside, follow_symlinks=False)
            content = b""
            if name in names and not os.path.islink(f"/proc/self/fd/{inside}/{name}"):
                content = Path(f"/proc/self/fd/{inside}/{name}").read_bytes()
            found[os.path.join(path, name)] = _node(there, content)
    return found


def _node(there: os.stat_result, content: bytes) -> Node:
    return Node(there.st_mode, there.st_uid, content, there.st_mtime_ns if stat.S_ISDIR(there.st_mode) else 0)


def harm(before: Contents, handle: int, may_come: bool) -> list[str]:
    """What has changed or gone; and what has come, even for a moment, where nothing may."""
    now = contents(handle)
    if may_come:
        before, now = ({name: one._replace(changed=0) for name, one in each.items()} for each in (before, now))
    names = before.keys() if may_come else before.keys() | now.keys()
    return [f"{name}: {before.get(name)} -> {now.get(name)}" for name in names if before.get(name) != now.get(name)]


class Attack:
    """The colleague at work, as a process of his own."""

    def __init__(self, folder: Path, names: tuple[str, ...], baits: tuple[str, ...], rest: float) -> None:
        """rest: seconds for which he lets all have its own name after every 500 moves, for work that takes long."""
        self._rest, self._count = rest, mmap.mmap(-1, 8)
        self.process = os.fork()
        if self.process == 0:
            with suppress(BaseException):
                os.chdir(folder)  # its path may lead through what is root's alone
                os.setgid(COLLEAGUE)
                os.setuid(COLLEAGUE)
                self._swap(names, baits)
            os._exit(1)

    @property
    def moves(self) -> int:
        """How many names have been changed so far."""
        return int(struct.unpack("q", self._count[:8])[0])

    def _swap(self, names: tuple[str, ...], baits: tuple[str, ...]) -> None:
        done = rested = 0
        while True:
            if done > rested + 500:
                rested = done
                time.sleep(self._rest)
            for name in names:
                for bait in baits:
                    for how in (EXCHANGE, NOREPLACE):
                        if _move(bait, name, how):
                            done += 1
                            _pause(done)
                            done += _move(name, bait, how) or _move(name, bait, NOREPLACE) or _found(bait, names)
                            break
                    self._count[:8] = struct.pack("q", done)

    def end(self) -> None:
        """End him."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def _move(old: str, new: str, how: int) -> bool:
    return LIBC.renameat2(HERE, os.fsencode(old), HERE, os.fsencode(new), how) == 0


def _found(bait: str, names: tuple[str, ...]) -> bool:
    """Put a bait back that got elsewhere meanwhile."""
    return any(_move(name, bait, NOREPLACE) for name in names)


def _pause(done: int) -> None:
    """Let the other one make a step while the bait lies there, how many is another one each time; at times, rest."""
    for _turn in range(done * 7919 % 13):
        os.sched_yield()
    if done % 50 == 0:
        time.sleep(0.002)


def taken_by(folders: Area, work: Callable[[Area], int]) -> tuple[int, str]:
    """Do the work as the account, in a process of its own: how often it came about, and what went wrong otherwise."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        said = "0 "
        try:
            os.setgid(VICTIM)
            os.setuid(VICTIM)
            LIBC.prctl(DUMPABLE, 1)  # or its programs would not reach what it has open, as those of a login do
            said = f"{int(work(folders))} "
        except BaseException as error:
            said = f"0 {error!r}"  # what tells more may not be loaded yet, and cannot be by who has few rights
            said = "0 " + traceback.format_exc()
        finally:
            os.write(writer, said.encode()[:4000])
            os._exit(0)
    os.close(writer)
    os.waitpid(process, 0)
    with os.fdopen(reader) as stream:
        number, _space, wrong = stream.read().partition(" ")
    return int(number), wrong


CALLS = (
    "open stat lstat readlink mkdir symlink rename replace unlink rmdir chmod fchmod fchown chown fsync listdir scandir"
)


class Moment:
    """One move, made right before the so many-th call to the system, and taken back before a later one."""

    def __init__(self, name: str, bait: str, at: int, back: int) -> None:
        self._name, self._bait, self._at, self._back = name, bait, at, back
        self.calls = 0
        self._how = 0

    def watch(self) -> None:
        """Stand between this process and the system, for good."""
        for name in CALLS.split():
            setattr(os, name, self._watched(getattr(os, name)))

    def _watched(self, call: Callable[..., object]) -> Callable[..., object]:
        def watched(*given: object, **named: object) -> object:
            self.calls += 1
            if self.calls == self._at:
                self._how = next((how for how in (EXCHANGE, NOREPLACE) if _move(self._bait, self._name, how)), 0)
            elif self.calls == self._at + self._back:
                _move(self._name, self._bait, self._how)
            return call(*given, **named)

        return watched
