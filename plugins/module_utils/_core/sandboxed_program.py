# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program that cannot write any file, such as a login shell with unknown start-up files.

The program runs in its own mount namespace, with all file systems read-only and an empty temporary /dev/shm. It is the
first process of its own process namespace, so all processes that it starts end with it. This needs user namespaces,
which a site may not allow: then enter_sandbox raises OSError and the program is not started.
"""

import ctypes
import errno
import os
import signal

from .mounts import read_mounts

NEW_USER, NEW_MOUNTS, NEW_PROCESSES = 0x10000000, 0x00020000, 0x20000000  # flags of unshare(2)
RDONLY, REMOUNT, BIND = 1, 32, 4096  # flags of mount(2)
# mount options that a remount must repeat, with their flags of mount(2)
KEPT_FLAGS = {"nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024, "nodiratime": 2048, "relatime": 1 << 21}
AT_FDCWD, AT_RECURSIVE = -100, 0x8000  # arguments of mount_setattr(2): all mounts below the path
MOUNT_SETATTR = 442  # number of the system call mount_setattr, the same on every architecture
PR_SET_PDEATHSIG = 1  # option of prctl(2): the signal that a process gets when its parent ends
WRITABLE = b"/dev/shm"  # the only folder that stays writable


def enter_sandbox() -> None:
    """Enter the sandbox, between fork and exec. Raise OSError if the site does not allow user namespaces.

    Only a new child process returns. The calling process waits for this child and then ends.
    """
    kernel = ctypes.CDLL(None, use_errno=True)  # the C library, whose functions make the system calls
    user, group = os.getuid(), os.getgid()
    if kernel.unshare(NEW_USER | NEW_MOUNTS | NEW_PROCESSES) != 0:
        raise OSError(ctypes.get_errno(), "")
    for name, content in (
        ("setgroups", "deny"),  # the kernel requires this before gid_map, see user_namespaces(7)
        ("uid_map", "%d %d 1" % (user, user)),  # the process keeps its user and group ID
        ("gid_map", "%d %d 1" % (group, group)),
    ):
        with open("/proc/self/" + name, "w") as id_map:
            id_map.write(content)
    _make_read_only(kernel)
    kernel.mount(b"tmpfs", WRITABLE, b"tmpfs", 0, b"size=16m")  # if this fails, the folder stays read-only
    child = os.fork()  # only a new child is in the process namespace
    if child == 0:
        # end with the parent: an interactive shell leaves the process group that the caller kills
        kernel.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        return
    os.closerange(0, 4096)  # readers of the output see its end when the child closes it
    os.waitpid(child, 0)
    os._exit(0)


def _make_read_only(kernel: ctypes.CDLL) -> None:
    """Make all mounts read-only: with one system call, or before Linux 5.12 with one call per mount."""
    # struct mount_attr: flags to set, flags to clear, propagation, user namespace
    attributes = (ctypes.c_uint64 * 4)(RDONLY, 0, 0, 0)
    address, size = ctypes.byref(attributes), ctypes.sizeof(attributes)
    if kernel.syscall(MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, address, size) == 0:
        return
    if ctypes.get_errno() != errno.ENOSYS:
        raise OSError(ctypes.get_errno(), "")
    make_each_read_only(kernel)


def make_each_read_only(kernel: ctypes.CDLL) -> None:
    """Make each mount read-only with a call of its own. kernel: the C library. Raise OSError on failure."""
    for point, options in read_mounts():
        flags = sum(KEPT_FLAGS.get(option, 0) for option in options)
        failed = kernel.mount(b"none", os.fsencode(point), None, REMOUNT | BIND | RDONLY | flags, None) != 0
        # a mount point that this user cannot reach needs no change
        if failed and ctypes.get_errno() not in (errno.EACCES, errno.ENOENT):
            raise OSError(ctypes.get_errno(), "")
