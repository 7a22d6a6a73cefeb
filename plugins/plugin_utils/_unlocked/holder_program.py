# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that holds a key where the kernel does not: a program of its own, which needs the standard library alone.

It gets the socket's path and the seconds as arguments, and the key on standard input. It gives the key to processes of
the same user, and ends when its time is over, at a request to end, and when its socket is gone.
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

GIVE, END = b"g", b"e"
LARGEST = 4096
DUMPABLE = 4  # PR_SET_DUMPABLE
LOOK = 15.0  # seconds between two looks at clock and socket: a suspended machine has another time afterwards
PATIENCE = 2.0  # seconds for one request


def main() -> None:
    """Hold the key until the end."""
    path, seconds = sys.argv[1], float(sys.argv[2])
    os.setsid()
    os.chdir("/")
    refuse_dumps()
    try:
        memory = make_memory()
    except OSError as error:
        sys.exit(f"hpc-onboard: {error}")
    length = 0
    while part := os.readv(0, [memoryview(memory)[length:]]):
        length += part
    server = listen(path)
    os.write(1, b"1")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nowhere, handle)
    try:
        serve(server, path, memoryview(memory)[:length], seconds)
    finally:
        memory[:] = bytes(len(memory))


def refuse_dumps() -> None:
    """Let no core be dumped, and no process but one of root's read this one's memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(AttributeError, OSError):  # systems other than Linux
        ctypes.CDLL(None).prctl(DUMPABLE, 0, 0, 0, 0)


def make_memory() -> mmap.mmap:
    """Return memory for the key: in no core dump, in no child, and never swapped. Raises OSError if it may be."""
    memory = mmap.mmap(-1, LARGEST)
    for advice in ("MADV_DONTDUMP", "MADV_DONTFORK"):
        if hasattr(mmap, advice):
            memory.madvise(getattr(mmap, advice))
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if ctypes.CDLL(None).mlock(ctypes.c_void_p(start), ctypes.c_size_t(LARGEST)):
        raise OSError("no memory can be kept from swap: see ulimit -l")
    return memory


def listen(path: str) -> socket.socket:
    """Return the listening socket, which takes the place of an older one."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    draft = f"{path}.{os.getpid()}"
    os.umask(0o077)
    server.bind(draft)
    server.listen()
    os.rename(draft, path)
    return server


def serve(server: socket.socket, path: str, payload: memoryview, seconds: float) -> None:
    """Answer requests until the end: by the clock on the wall or by the time that this machine was awake."""
    own, ends = os.stat(path).st_ino, (time.time() + seconds, time.monotonic() + seconds)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    while (left := min(ends[0] - time.time(), ends[1] - time.monotonic())) > 0 and _is_at(path, own):
        server.settimeout(min(left, LOOK))
        with suppress(OSError):  # no request came, or its sender has gone
            connection, _address = server.accept()
            with connection:
                if not answer(connection, payload, min(ends[0] - time.time(), ends[1] - time.monotonic())):
                    _remove(path, own)  # before the one who asked goes on, and may put another socket there
                    return
    _remove(path, own)


def answer(connection: socket.socket, payload: memoryview, left: float) -> bool:
    """Answer one request. False if it says that this is the end."""
    connection.settimeout(PATIENCE)
    if peer_uid(connection) != os.getuid() or left <= 0:
        return True
    request = connection.recv(1)
    if request == GIVE:
        connection.sendall(payload)
    return request != END


def peer_uid(connection: socket.socket) -> int:
    """Return the user at the other end, as the kernel knows them."""
    if hasattr(socket, "SO_PEERCRED"):
        return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
    user, group = ctypes.c_uint32(), ctypes.c_uint32()
    if ctypes.CDLL(None).getpeereid(connection.fileno(), ctypes.byref(user), ctypes.byref(group)):
        return -1
    return int(user.value)


def _remove(path: str, inode: int) -> None:
    if _is_at(path, inode):
        os.unlink(path)


def _is_at(path: str, inode: int) -> bool:
    try:
        return os.lstat(path).st_ino == inode
    except OSError:
        return False


if __name__ == "__main__":
    main()
