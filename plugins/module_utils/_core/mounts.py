# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where file systems are mounted, and which of them hang, asked by processes that are left behind."""

import os
import signal
import time
from typing import Iterable, List


def is_inside(path: str, mount: str) -> bool:
    """Return True if the path is the mount point or below it, by names alone."""
    return path == mount or path.startswith(mount.rstrip("/") + "/")


def mount_of(path: str, mounts: List[str]) -> str:
    """The mount point that path lies below; decided by names alone, no file system is asked."""
    return max((one for one in mounts if is_inside(path, one)), key=len, default="/")


def mount_points() -> List[str]:
    """The mount points of this machine, from the kernel's table; the file systems are not asked."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as table:
            return [line.split()[4].encode("latin-1", "replace").decode("unicode_escape") for line in table]
    except OSError:
        return []


def find_hanging(mounts: Iterable[str], seconds: float) -> List[str]:
    """Return the mount points whose file systems do not answer within so many seconds, all asked at once."""
    asked = {_ask(mount): mount for mount in mounts}
    deadline = time.monotonic() + seconds
    while asked and time.monotonic() < deadline:
        for child in list(asked):
            if os.waitpid(child, os.WNOHANG)[0]:
                del asked[child]
        time.sleep(0.002)
    for child in asked:
        os.kill(child, signal.SIGKILL)
    return sorted(asked.values())


def _ask(mount: str) -> int:
    """Return the process that asks a file system, with none of the handles that an answer is awaited from."""
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
    """Return the sentence for a file system that hangs. home: the real path of the home."""
    what = "the home hangs (file system %s)" if is_inside(home, mount) else "the file system %s hangs"
    return "no answer in %d s: %s; run again when the site has repaired it" % (seconds, what % mount)
