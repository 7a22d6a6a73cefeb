# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hand what unlocks a file from one process of a command to the next: `plan` asks once, also for what it applies.

The keys wait in a pipe that the command and what it starts inherit: memory of the kernel, which has no name, is in no
core dump and is not swapped, and is gone with them.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from typing import NamedTuple

VARIABLE = "HPC_ONBOARD_UNLOCKED_PIPE"
MOST = 4096  # bytes that a pipe takes at once


class Pipe(NamedTuple):
    """The two ends of the pipe, and its number in the kernel, which tells it from another file of the same number."""

    reads: int
    writes: int
    inode: int

    def text(self) -> str:
        """Return the value of the variable."""
        return ",".join(map(str, self))


def find_pipe() -> Pipe | None:
    """Return the pipe that this process inherited, or made; None if there is none."""
    with suppress(ValueError, TypeError, OSError):
        pipe = Pipe(*map(int, os.environ.get(VARIABLE, "").split(",")))
        found = [os.fstat(handle) for handle in pipe[:2]]
        if all(stat.S_ISFIFO(one.st_mode) and one.st_ino == pipe.inode for one in found):
            return pipe
    return None


def open_pipe() -> Pipe:
    """Return the pipe for what this process starts, which finds it by the environment and must inherit its ends."""
    pipe = find_pipe()
    if pipe is None:
        reads, writes = os.pipe()
        os.set_blocking(reads, False)
        os.set_blocking(writes, False)
        pipe = Pipe(reads, writes, os.fstat(reads).st_ino)
        os.environ[VARIABLE] = pipe.text()
    for handle in pipe[:2]:
        os.set_inheritable(handle, True)
    return pipe


class UnlockedKeys(MutableMapping[str, str]):
    """The keys that this process knows, which its command's next process will know, too."""

    def __init__(self, known: dict[str, str]) -> None:
        self._known = known

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            self._known.update(_take())
            self._put()  # for the process after this one
        return self._known[name]

    def __setitem__(self, name: str, key: str) -> None:
        self._known.update({**_take(), name: key})
        self._put()

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _put(self) -> None:
        pipe, text = find_pipe(), json.dumps(self._known).encode()
        if pipe and self._known and len(text) <= MOST:
            with suppress(OSError):
                os.write(pipe.writes, text)


def _take() -> dict[str, str]:
    """Return what waits in the pipe, which is empty then."""
    pipe = find_pipe()
    with suppress(OSError, ValueError):
        found = json.loads(os.read(pipe.reads, MOST)) if pipe else {}
        return {str(name): str(key) for name, key in found.items()}
    return {}
