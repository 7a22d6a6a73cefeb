# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pass keys of unlocked files from one process of a command to the next: `plan` then asks for a passphrase only once.

The keys wait in a pipe that the command and its child processes share. A pipe is kernel memory: it has no name, is not
in core dumps or swap, and ends with the processes.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from typing import NamedTuple

VARIABLE = "HPC_ONBOARD_UNLOCKED_PIPE"
MOST = 4096  # bytes that a pipe accepts in one write (PIPE_BUF)


class Pipe(NamedTuple):
    """The two ends of a pipe. inode: detects that a descriptor was closed and is now another file."""

    reads: int
    writes: int
    inode: int

    def text(self) -> str:
        """Return the value for the environment variable."""
        return ",".join(map(str, self))


def find_pipe() -> Pipe | None:
    """Return the pipe that this process inherited or opened; None if there is none."""
    with suppress(ValueError, TypeError, OSError):
        pipe = Pipe(*map(int, os.environ.get(VARIABLE, "").split(",")))
        entries = [os.fstat(handle) for handle in pipe[:2]]
        if all(stat.S_ISFIFO(entry.st_mode) and entry.st_ino == pipe.inode for entry in entries):
            return pipe
    return None


def open_pipe() -> Pipe:
    """Return a pipe that child processes inherit, and find through the environment variable."""
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
    """File and key id -> key, shared with the next process of the command.

    Each access takes the keys out of the pipe and writes them back for the next process.
    """

    def __init__(self, known: dict[str, str]) -> None:
        self._known = known

    def __getitem__(self, name: str) -> str:
        """Return a key, if needed from the pipe. Raise KeyError if no process has unlocked the file."""
        if name not in self._known:
            self._known.update(_read_pipe())
            self._write_pipe()
        return self._known[name]

    def __setitem__(self, name: str, key: str) -> None:
        """Remember a key, and add it to those in the pipe."""
        self._known.update({**_read_pipe(), name: key})
        self._write_pipe()

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _write_pipe(self) -> None:
        """Write the keys into the pipe. If they do not fit, the next process asks for the passphrase."""
        pipe, text = find_pipe(), json.dumps(self._known).encode()
        if pipe and self._known and len(text) <= MOST:
            with suppress(OSError):
                os.write(pipe.writes, text)


def _read_pipe() -> dict[str, str]:
    """Take the keys out of the pipe and return them."""
    pipe = find_pipe()
    with suppress(OSError, ValueError):
        keys = json.loads(os.read(pipe.reads, MOST)) if pipe else {}
        return {str(name): str(key) for name, key in keys.items()}
    return {}
