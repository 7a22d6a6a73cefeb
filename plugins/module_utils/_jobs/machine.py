# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The C library of the login node, and the free space for the account at a path.

On most file systems, statvfs ignores the user's quota, so the quota commands are run as well.
"""

import os
from typing import List, Tuple

from .._core.host import Host
from .._core.mounts import find_mount, list_mount_points
from .._core.program import run_program
from .._core.search_path import find_program
from .._formats.quota import QuotaLeft, merge_quotas, read_left

SECONDS = 10  # the time limit of a quota command
QUOTA_COMMAND = ["quota", "-u", "-g", "-w", "-p", "--show-mntpoint", "--hide-device"]


def read_glibc_version() -> str:
    """Return the version of glibc, such as 2.28, or "" if the system has another C library."""
    try:
        name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").split(" ")
    except (OSError, ValueError):
        return ""
    return version if name == "glibc" else ""


def measure_free_space(host: Host, folder: str) -> Tuple[str, List[Tuple[str, QuotaLeft]]]:
    """Return the existing folder that was measured, for display, and the free space in this folder.

    The measured folder is the folder itself, or the nearest existing folder above it. The free space is a list of
    (limit, what it leaves); the limits are "the file system" and "your quota".
    """
    existing = host.resolve(folder) or folder
    while not os.path.isdir(host.real(existing)):  # on disk: in a dry run, the host has folders only in memory
        existing = os.path.dirname(existing)
    system, quotas = _measure(host.real(existing))
    return host.shown(existing), [("the file system", system), ("your quota", quotas)]


def _measure(path: str) -> Tuple[QuotaLeft, QuotaLeft]:
    """Return the free space in the file system of an existing folder, and the space that the user's quotas leave.

    Some sites limit space with the ordinary quota, others with the quota of Lustre (lfs); the smaller one counts.
    """
    status = os.statvfs(path)
    # f_files is 0 if the file system does not limit the number of files
    system = QuotaLeft(status.f_bavail * status.f_frsize, status.f_favail if status.f_files else None)
    mount = find_mount(os.path.realpath(path), list_mount_points())
    lustre = _read_output(["lfs", "quota", "-q", path]).replace(path + "\n", path + " ")  # lfs wraps after a long path
    return system, merge_quotas(read_left(_read_output(QUOTA_COMMAND), mount), read_left(lustre, path))


def _read_output(command: List[str]) -> str:
    """Return the output of a command, or "" if the command is not installed or takes too long."""
    program = find_program(command[0], os.environ.get("PATH", ""))
    output = run_program([program] + command[1:], os.environ, SECONDS) if program else None
    return output.text if output and not output.why else ""
