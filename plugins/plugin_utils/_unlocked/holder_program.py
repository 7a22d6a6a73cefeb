# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that holds a key in memory (see holder_process.py). It uses only the standard library.

Its arguments are the path of its socket and a time limit in seconds; the key is on standard input. It sends the key to
processes of the same user, and ends at the time limit, on request, or if its socket is removed or replaced.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import time
from contextlib import suppress

GIVE, END = b"g", b"e"  # requests: send the key, end the program
LARGEST = 4096  # bytes of the key
SET_DUMPABLE = 4  # PR_SET_DUMPABLE, an operation of prctl
CHECK_SECONDS = 15.0  # between checks of clock and socket: the clock jumps while a machine is suspended
PATIENCE = 2.0  # seconds for one request


def main() -> None:
    """Read the key, serve requests, and overwrite the key at the end."""
    path, seconds = sys.argv[1], float(sys.argv[2])
    os.setsid()
    os.chdir("/")
    refuse_dumps()
    try:
        memory = make_memory()
        server = listen(path)
    except OSError as error:  # also for a path that is too long for a socket
        sys.exit(f"hpc-onboard: {error}")
    # read without a copy of the key elsewhere in memory
    length = 0
    while part_length := os.readv(0, [memoryview(memory)[length:]]):
        length += part_length
    os.write(1, b"1")  # tells holder_process.py that this program has the key and listens
    null = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):  # release the terminal and the pipes of the parent
        os.dup2(null, handle)
    try:
        serve(server, path, memoryview(memory)[:length], seconds)
    finally:
        memory[:] = bytes(len(memory))


def refuse_dumps() -> None:
    """Disable core dumps, and access to this process's memory by other processes except root's."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(AttributeError, OSError):  # systems other than Linux
        ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0)


def make_memory() -> mmap.mmap:
    """Return memory for the key that is not in core dumps or child processes. Raise OSError if it may be swapped."""
    memory = mmap.mmap(-1, LARGEST)
    for advice in ("MADV_DONTDUMP", "MADV_DONTFORK"):
        if hasattr(mmap, advice):
            memory.madvise(getattr(mmap, advice))
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    has_failed = ctypes.CDLL(None).mlock(ctypes.c_void_p(start), ctypes.c_size_t(LARGEST))
    if has_failed:
        raise OSError("the memory cannot be excluded from swap. Check the limit with ulimit -l")
    return memory


def listen(path: str) -> socket.socket:
    """Return the listening socket, which replaces an older socket at the path."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    draft = f"{path}.{os.getpid()}"  # renamed when the socket listens, so that no client finds it before
    os.umask(0o077)
    server.bind(draft)
    server.listen()
    os.rename(draft, path)
    return server


def serve(server: socket.socket, path: str, payload: memoryview, seconds: float) -> None:
    """Serve requests until the time limit, a request to end, or the removal of the socket.

    server: the listening socket. path: of the socket. payload: the key. seconds: the time limit.
    """
    inode = os.stat(path).st_ino
    end, monotonic_end = time.time() + seconds, time.monotonic() + seconds

    def seconds_left() -> float:
        """Return the seconds left by both clocks: one stops while the machine sleeps, the user can set the other."""
        return min(end - time.time(), monotonic_end - time.monotonic())

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # outlive the terminal
    while (remaining := seconds_left()) > 0 and _is_at(path, inode):
        server.settimeout(min(remaining, CHECK_SECONDS))
        with suppress(OSError):  # no request came, or the client has closed the connection
            connection, _address = server.accept()
            with connection:
                if not serve_request(connection, payload, is_expired=seconds_left() <= 0):
                    _remove(path, inode)  # before the client, which still waits, creates a new socket at the path
                    return
    _remove(path, inode)


def serve_request(connection: socket.socket, payload: memoryview, is_expired: bool) -> bool:
    """Serve one request, if its sender is the same user. Return False if the program is to end.

    payload: the key, sent for the request GIVE. is_expired: True if the time limit has passed: the request is ignored.
    """
    connection.settimeout(PATIENCE)
    if peer_uid(connection) != os.getuid() or is_expired:
        return True
    request = connection.recv(1)
    if request == GIVE:
        connection.sendall(payload)
    return request != END


def peer_uid(connection: socket.socket) -> int:
    """Return the user id of the process at the other end, from the kernel; -1 if the kernel does not report it."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _process, user_id, _group = struct.unpack("3i", credentials)
        return int(user_id)
    # macOS
    user, group = ctypes.c_uint32(), ctypes.c_uint32()
    if ctypes.CDLL(None).getpeereid(connection.fileno(), ctypes.byref(user), ctypes.byref(group)):
        return -1
    return int(user.value)


def _remove(path: str, inode: int) -> None:
    """Remove this program's socket, but not one that has replaced it. path, inode: of this program's socket."""
    if _is_at(path, inode):
        os.unlink(path)


def _is_at(path: str, inode: int) -> bool:
    """Return True if the path still has this program's socket. inode: of the socket."""
    try:
        return os.lstat(path).st_ino == inode
    except OSError:
        return False


if __name__ == "__main__":
    main()
