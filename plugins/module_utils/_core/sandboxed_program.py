# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program that cannot write any file, such as a login shell with unknown start-up files.

The program sees all file systems read-only, in its own mount namespace, and an empty temporary /dev/shm. It is the
first process of its own process namespace, so whatever it starts ends with it. This needs user namespaces, which a site
may not allow: then enter_sandbox raises OSError and nothing is run.
"""

import ctypes
import errno
import os
import re
import signal
from typing import List, Tuple

NEW_USER, NEW_MOUNTS, NEW_PROCESSES = 0x10000000, 0x00020000, 0x20000000
RDONLY, REMOUNT, BIND = 1, 32, 4096
KEPT = {"nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024, "nodiratime": 2048, "relatime": 1 << 21}
HERE, RECURSIVE, MOUNT_SETATTR = -100, 0x8000, 442  # the number is the same on every architecture
END_WITH_PARENT = 1
EMPTY = b"/dev/shm"


def enter_sandbox() -> None:
    """Enter the sandbox. Call it between fork and exec: it returns in another child, for which the parent waits."""
    kernel = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if kernel.unshare(NEW_USER | NEW_MOUNTS | NEW_PROCESSES) != 0:
        raise OSError(ctypes.get_errno(), "")
    for name, content in (
        ("setgroups", "deny"),
        ("uid_map", "%d %d 1" % (user, user)),
        ("gid_map", "%d %d 1" % (group, group)),
    ):
        with open("/proc/self/" + name, "w") as table:
            table.write(content)
    _make_read_only(kernel)
    kernel.mount(b"tmpfs", EMPTY, b"tmpfs", 0, b"size=16m")  # the only place to write
    child = os.fork()
    if child == 0:
        kernel.prctl(END_WITH_PARENT, signal.SIGKILL)  # an interactive shell leaves the group that is killed
        return
    os.closerange(0, 4096)
    os.waitpid(child, 0)
    os._exit(0)


def _make_read_only(kernel: ctypes.CDLL) -> None:
    """Make all mounts read-only, with one call, or one by one before Linux 5.12."""
    attributes = (ctypes.c_uint64 * 4)(RDONLY, 0, 0, 0)
    if kernel.syscall(MOUNT_SETATTR, HERE, b"/", RECURSIVE, ctypes.byref(attributes), ctypes.sizeof(attributes)) != 0:
        if ctypes.get_errno() != errno.ENOSYS:
            raise OSError(ctypes.get_errno(), "")
        close_each(kernel, mounts())


def close_each(kernel: ctypes.CDLL, found: List[Tuple[bytes, int]]) -> None:
    """Make these mounts read-only; one that cannot be accessed needs no change."""
    for point, flags in found:
        failed = kernel.mount(b"none", point, None, REMOUNT | BIND | RDONLY | flags, None) != 0
        if failed and ctypes.get_errno() not in (errno.EACCES, errno.ENOENT):
            raise OSError(ctypes.get_errno(), "")


def mounts() -> List[Tuple[bytes, int]]:
    """Return the mount points, each with the flags that a namespace must keep."""
    found = []
    with open("/proc/self/mountinfo", "rb") as table:
        for line in table:
            words = line.split()
            flags = [KEPT.get(word, 0) for word in words[5].decode("ascii", "replace").split(",")]
            point = re.sub(rb"\\([0-7]{3})", lambda escape: bytes([int(escape.group(1), 8)]), words[4])
            found.append((point, sum(flags)))
    return found
