# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold a key in a background process if the kernel's keyring is not available: on macOS, in most containers.

A payload is the key that unlocks a file, with its id and time limit, as held_key.py writes it.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

from .._state.durable_files import FOLDER_FLAGS, StateError, check_private
from .._state.fingerprint_key import make_private, state_folder
from . import holder_program

TITLE = "a background process"
PATIENCE = 5.0  # seconds for the response of the process


def hold(name: str, payload: bytes, seconds: int) -> bool:
    """Hold the payload under this name in a new process. Return False if the process does not start.

    seconds: the time limit, after which the process ends.
    """
    drop(name)
    with suppress(OSError, StateError):
        folder = _socket_folder()
        make_private(folder)
        _check_private(folder)
        return _start(folder / name, payload, seconds)
    return False


def find(name: str) -> bytes:
    """Return the payload of this name; empty if no process holds it."""
    return _request(name, holder_program.GIVE)


def drop(name: str) -> bool:
    """End the process that holds a payload under this name. Return False if no process did."""
    is_running = bool(find(name))
    _request(name, holder_program.END)
    return is_running


def _start(path: Path, payload: bytes, seconds: int) -> bool:
    """Start the program, pass the payload through its standard input, and wait until the program listens.

    Return False if the program ends before it listens. path: of its socket. seconds: its time limit.
    """
    (child_input, payload_end), (ready_end, child_output) = os.pipe(), os.pipe()
    # -I, -S: without the user's modules and settings
    command = [sys.executable, "-I", "-S", str(Path(holder_program.__file__)), str(path), str(seconds)]
    standard_streams = ((os.POSIX_SPAWN_DUP2, child_input, 0), (os.POSIX_SPAWN_DUP2, child_output, 1))
    os.posix_spawn(command[0], command, {"PATH": os.defpath}, file_actions=standard_streams)
    for handle in (child_input, child_output):
        os.close(handle)
    with os.fdopen(payload_end, "wb") as stream:
        stream.write(payload)
    with os.fdopen(ready_end, "rb") as stream:
        return stream.read(1) != b""  # the program writes one byte when it listens


def _request(name: str, request: bytes) -> bytes:
    """Return the response of the process with this name; empty if it is not running or belongs to another user.

    request: GIVE or END of holder_program.
    """
    folder = _socket_folder()
    with suppress(OSError, StateError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        _check_private(folder)
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


def _socket_folder() -> Path:
    """Return the folder of the sockets: below XDG_RUNTIME_DIR, which is in memory, else the state folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(runtime) / "hpc.onboard" if runtime and os.access(runtime, os.W_OK) else state_folder()


def _check_private(folder: Path) -> None:
    """Raise OSError or StateError if another user can access the folder."""
    handle = os.open(folder, FOLDER_FLAGS)
    try:
        check_private(os.fstat(handle), str(folder), mode=0o700)
    finally:
        os.close(handle)
