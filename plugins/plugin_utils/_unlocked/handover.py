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
PIPE_BYTES = 4096  # bytes that every pipe accepts in one write (PIPE_BUF)


class Pipe(NamedTuple):
    """The descriptors of a pipe's two ends. inode: of the pipe; shows whether a descriptor is now another file."""

    reads: int
    writes: int
    inode: int

    def text(self) -> str:
        """Return the pipe as the value of the environment variable."""
        return ",".join(map(str, self))


def find_pipe() -> Pipe | None:
    """Return the pipe that this process has inherited or opened; None without a pipe."""
    with suppress(ValueError, TypeError, OSError):  # of a missing or invalid variable, or a closed descriptor
        pipe = Pipe(*map(int, os.environ.get(VARIABLE, "").split(",")))
        entries = [os.fstat(handle) for handle in (pipe.reads, pipe.writes)]
        if all(stat.S_ISFIFO(entry.st_mode) and entry.st_ino == pipe.inode for entry in entries):
            return pipe
    return None


def open_pipe() -> Pipe:
    """Return the pipe that child processes inherit and find through the environment variable; open one if needed."""
    pipe = find_pipe()
    if pipe is None:
        reads, writes = os.pipe()
        os.set_blocking(reads, False)
        os.set_blocking(writes, False)
        pipe = Pipe(reads, writes, os.fstat(reads).st_ino)
        os.environ[VARIABLE] = pipe.text()
    for handle in (pipe.reads, pipe.writes):
        os.set_inheritable(handle, True)
    return pipe


class UnlockedKeys(MutableMapping[str, str]):
    """Path of a file and id of its key -> key, shared with the next process of the command.

    Each access takes the keys out of the pipe and writes them back for the next process. keys: those that this process
    has already.
    """

    def __init__(self, keys: dict[str, str]) -> None:
        self._keys = keys

    def __getitem__(self, name: str) -> str:
        """Return a key, from the pipe if this process has not unlocked the file. Raise KeyError for a locked file."""
        if name not in self._keys:
            self._keys.update(_read_pipe())
            self._write_pipe()  # reading has emptied the pipe
        return self._keys[name]

    def __setitem__(self, name: str, key: str) -> None:
        """Store a key in this process, and in the pipe together with the keys that the pipe contains."""
        self._keys.update({**_read_pipe(), name: key})
        self._write_pipe()

    def __delitem__(self, name: str) -> None:
        del self._keys[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def _write_pipe(self) -> None:
        """Write the keys into the pipe. If they do not fit, the next process asks for the passphrase."""
        pipe, text = find_pipe(), json.dumps(self._keys).encode()
        if pipe and self._keys and len(text) <= PIPE_BYTES:
            with suppress(OSError):
                os.write(pipe.writes, text)


def _read_pipe() -> dict[str, str]:
    """Take the keys out of the pipe and return them."""
    pipe = find_pipe()
    with suppress(OSError, ValueError):
        keys = json.loads(os.read(pipe.reads, PIPE_BYTES)) if pipe else {}
        return {str(name): str(key) for name, key in keys.items()}
    return {}
