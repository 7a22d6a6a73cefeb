# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The C library of the login node, and the free space for the account at a path.

On most file systems statvfs does not know the user's quota, so the quota commands are run as well.
"""

import os
from typing import List, Tuple

from .._core.host import Host
from .._core.mounts import mount_of, mount_points
from .._core.program import run_program
from .._core.search_path import find_program
from .._formats.quota import QuotaLeft, read_left, smaller_quota

SECONDS = 10
QUOTA = ["quota", "-u", "-g", "-w", "-p", "--show-mntpoint", "--hide-device"]


def glibc_version() -> str:
    """Return the version of glibc, such as 2.28, or "" if the system has another C library."""
    try:
        name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").split(" ")
    except (OSError, ValueError):
        return ""
    return version if name == "glibc" else ""


def measure_free_space(host: Host, folder: str) -> Tuple[str, List[Tuple[str, QuotaLeft]]]:
    """Return the nearest existing folder, for display, and what the file system and the user's quota leave there.

    Only folders on the disk count: in a dry run others exist in memory.
    """
    above = host.resolve(folder) or folder
    while not os.path.isdir(host.real(above)):
        above = os.path.dirname(above)
    system, quotas = _measure(host.real(above))
    return host.shown(above), [("the file system", system), ("your quota", quotas)]


def _measure(path: str) -> Tuple[QuotaLeft, QuotaLeft]:
    """Return what the file system and the account's quotas leave at an existing folder."""
    status = os.statvfs(path)
    system = QuotaLeft(status.f_bavail * status.f_frsize, status.f_favail if status.f_files else None)
    mount = mount_of(os.path.realpath(path), mount_points())
    text = _run(QUOTA)
    return system, smaller_quota(
        read_left(text, mount), read_left(_join_wrapped_path(_run(["lfs", "quota", "-q", path]), path), path)
    )


def _run(line: List[str]) -> str:
    """Return the output of a command, or "" if it is missing or takes too long."""
    program = find_program(line[0], os.environ.get("PATH", ""))
    answer = run_program([program] + line[1:], os.environ, SECONDS) if program else None
    return answer.text if answer and not answer.why else ""


def _join_wrapped_path(text: str, path: str) -> str:
    """Return the output of lfs with a long path and its numbers in one line."""
    return text.replace(path + "\n", path + " ")
