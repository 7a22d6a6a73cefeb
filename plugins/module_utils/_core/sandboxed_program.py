# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Let a program run where it can write no file: what people's start-up files do, nobody can know beforehand.

The program sees every file system read-only, in a mount namespace of its own, and an empty /dev/shm that is gone
afterwards; whatever it starts ends with it, for it is the first process of a namespace of its own, too. Linux gives
that to everybody where a site allows user namespaces. Where it does not, enter_sandbox raises OSError and nothing runs.
"""

import ctypes
import errno
import os
import re
from typing import List, Match, Tuple

NEW_USER, NEW_MOUNTS, NEW_PROCESSES = 0x10000000, 0x00020000, 0x20000000
RDONLY, REMOUNT, BIND = 1, 32, 4096
KEPT = {"nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024, "nodiratime": 2048, "relatime": 1 << 21}
HERE, RECURSIVE, MOUNT_SETATTR = -100, 0x8000, 442  # the number is the same on every architecture
EMPTY = b"/dev/shm"


def enter_sandbox() -> None:
    """Go there. Call it between fork and exec: it returns in a further child, whose parent only waits for it."""
    kernel = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    _must(kernel.unshare(NEW_USER | NEW_MOUNTS | NEW_PROCESSES))
    for name, words in (
        ("setgroups", "deny"),
        ("uid_map", "%d %d 1" % (user, user)),
        ("gid_map", "%d %d 1" % (group, group)),
    ):
        with open("/proc/self/" + name, "w") as table:
            table.write(words)
    _close(kernel)
    kernel.mount(b"tmpfs", EMPTY, b"tmpfs", 0, b"size=16m")  # without it there is no place to write at all
    child = os.fork()
    if child == 0:
        return
    os.closerange(0, 4096)
    os.waitpid(child, 0)
    os._exit(0)


def _close(kernel: ctypes.CDLL) -> None:
    """Make every mount read-only: by the call that does all at once, or one by one before Linux 5.12."""
    wanted = (ctypes.c_uint64 * 4)(RDONLY, 0, 0, 0)
    if kernel.syscall(MOUNT_SETATTR, HERE, b"/", RECURSIVE, ctypes.byref(wanted), ctypes.sizeof(wanted)) != 0:
        if ctypes.get_errno() != errno.ENOSYS:
            raise OSError(ctypes.get_errno(), "")
        close_each(kernel, mounts())


def close_each(kernel: ctypes.CDLL, found: List[Tuple[bytes, int]]) -> None:
    """Make these mounts read-only; one that cannot even be reached is closed already."""
    for point, flags in found:
        failed = kernel.mount(b"none", point, None, REMOUNT | BIND | RDONLY | flags, None) != 0
        if failed and ctypes.get_errno() not in (errno.EACCES, errno.ENOENT):
            raise OSError(ctypes.get_errno(), "")


def mounts() -> List[Tuple[bytes, int]]:
    """The mount points with those of their flags that a namespace may not take away."""
    found = []
    with open("/proc/self/mountinfo", "rb") as table:
        for line in table:
            words = line.split()
            flags = [KEPT.get(word, 0) for word in words[5].decode("ascii", "replace").split(",")]
            found.append((re.sub(rb"\\([0-7]{3})", _byte, words[4]), sum(flags)))
    return found


def _byte(escape: Match[bytes]) -> bytes:
    return bytes([int(escape.group(1), 8)])


def _must(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "")
