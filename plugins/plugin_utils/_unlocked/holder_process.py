# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold a key in a process of the user's own, where the kernel's keyring is not available: macOS, most containers."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

from .._state.durable_files import FOLDER, StateError, check_private
from .._state.fingerprint_key import make_private, state_folder
from . import holder_program

TITLE = "a process of its own"
PATIENCE = 5.0  # seconds


def hold(name: str, payload: bytes, seconds: int) -> bool:
    """Hold the payload under this name in a new process. False if it does not start."""
    drop(name)
    with suppress(OSError, StateError):
        folder = _folder()
        make_private(folder)
        _check(folder)
        return _start(folder / name, payload, seconds)
    return False


def find(name: str) -> bytes:
    """Return the payload; empty if no process holds one."""
    return _request(name, holder_program.GIVE)


def drop(name: str) -> bool:
    """End the process. False if there was none."""
    is_there = bool(find(name))
    _request(name, holder_program.END)
    return is_there


def _start(path: Path, payload: bytes, seconds: int) -> bool:
    """Start the program, and return True once it listens. The payload goes through its standard input alone."""
    (its_input, ours), (answer, its_output) = os.pipe(), os.pipe()
    words = [sys.executable, "-I", "-S", str(Path(holder_program.__file__)), str(path), str(seconds)]
    moves = ((os.POSIX_SPAWN_DUP2, its_input, 0), (os.POSIX_SPAWN_DUP2, its_output, 1))
    os.posix_spawn(words[0], words, {"PATH": os.defpath}, file_actions=moves)
    for handle in (its_input, its_output):
        os.close(handle)
    with os.fdopen(ours, "wb") as stream:
        stream.write(payload)
    with os.fdopen(answer, "rb") as stream:
        return stream.read(1) != b""


def _request(name: str, request: bytes) -> bytes:
    """Return the answer of the process, if it belongs to this user; else nothing."""
    folder = _folder()
    with suppress(OSError, StateError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        _check(folder)
        connection.settimeout(PATIENCE)
        connection.connect(str(folder / name))
        if holder_program.peer_uid(connection) != os.getuid():
            return b""
        connection.sendall(request)
        parts = []
        while part := connection.recv(holder_program.LARGEST):
            parts.append(part)
        return b"".join(parts)
    return b""


def _folder() -> Path:
    """Return the folder of the sockets: of this login, which is in memory, else of the state."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(runtime) / "hpc.onboard" if runtime and os.access(runtime, os.W_OK) else state_folder()


def _check(folder: Path) -> None:
    """Raise OSError or StateError if another user can use the folder."""
    handle = os.open(folder, FOLDER)
    try:
        check_private(os.fstat(handle), str(folder), 0o700)
    finally:
        os.close(handle)
