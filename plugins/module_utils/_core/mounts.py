# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mount points, and the search for file systems that hang: child processes try to access them and may be abandoned."""

import os
import re
import signal
import time
from typing import Iterable, List, Tuple

from .errors import printable

TABLE = "/proc/self/mountinfo"


def is_inside(path: str, mount: str) -> bool:
    """Return True if the path is the mount point or below it, by names alone."""
    return path == mount or path.startswith(mount.rstrip("/") + "/")


def find_mount(path: str, mounts: List[str]) -> str:
    """Return the mount point of a path, by names alone, without access to a file system."""
    return max((mount for mount in mounts if is_inside(path, mount)), key=len, default="/")


def list_mount_points() -> List[str]:
    """Return the mount points of this machine, without access to the file systems."""
    try:
        return [point for point, _options in read_mounts()]
    except OSError:
        return []  # a system without the kernel's table, such as macOS


def read_mounts() -> List[Tuple[str, List[str]]]:
    """Return each mount point in the kernel's table with its options. Raise OSError if the table cannot be read."""
    with open(TABLE, "rb") as table:
        rows = [line.split(b" ") for line in table]  # fields 4 and 5 are the mount point and its options, see proc(5)
    return [(_unescape(row[4]), row[5].decode("ascii", "replace").split(",")) for row in rows]


def _unescape(point: bytes) -> str:
    """Return a mount point of the kernel's table, which writes a space in a path as \\040."""
    return os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda escape: bytes([int(escape.group(1), 8)]), point))


def find_hanging(mounts: Iterable[str], seconds: float) -> List[str]:
    """Return, sorted, the mount points whose file systems do not answer within this time. All are tried at once."""
    waiting = {_start_probe(mount): mount for mount in mounts}  # child process -> mount point
    deadline = time.monotonic() + seconds
    while waiting and time.monotonic() < deadline:
        for child in list(waiting):
            if os.waitpid(child, os.WNOHANG)[0]:  # 0 while the child is still running
                del waiting[child]
        time.sleep(0.002)
    for child in waiting:
        os.kill(child, signal.SIGKILL)  # and not waited for: the child ends only when the file system answers
    return sorted(waiting.values())


def _start_probe(mount: str) -> int:
    """Start a child process that accesses a file system, and return its id.

    The child closes the standard streams. Otherwise, if the child hung, readers of its output would wait for ever.
    """
    child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for handle in (0, 1, 2):
                os.dup2(null, handle)
            os.statvfs(mount)
            os.lstat(mount)
        finally:
            os._exit(0)
    return child


def describe_hang(mount: str, home: str, seconds: float) -> str:
    """Return the error message for a file system that hangs.

    mount: its mount point. home: the real path of the home directory. seconds: how long hpc-onboard has waited.
    """
    name = "home directory (file system %s)" if is_inside(home, mount) else "file system %s"
    text = "the %s did not respond within %d s: run hpc-onboard again when the file system responds"
    return text % (name % printable(mount), seconds)
