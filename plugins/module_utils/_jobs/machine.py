# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the login node is, and how much the account may still write at a place.

statvfs knows no user's quota on most file systems, so the quota commands are asked as well.
"""

import os
from typing import List, Tuple

from .._core.host import Host
from .._core.mounts import mount_of, mount_points
from .._core.program import find_program, run_program
from .._formats.quota import QuotaLeft, read_left, tighter

SECONDS = 10
QUOTA = ["quota", "-u", "-g", "-w", "-p", "--show-mntpoint", "--hide-device"]


def libc() -> str:
    """The version of glibc, such as 2.28; empty where the system has another C library."""
    try:
        name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").split(" ")
    except (OSError, ValueError):
        return ""
    return version if name == "glibc" else ""


def room(host: Host, folder: str) -> Tuple[str, List[Tuple[str, QuotaLeft]]]:
    """Where a folder is or will be, as a person reads it, and what is left there: whose it is, and how much.

    It is measured in the nearest folder that is on the disk by now: in a dry run others are there in its mind alone.
    """
    above = host.resolve(folder) or folder
    while not os.path.isdir(host.real(above)):
        above = os.path.dirname(above)
    system, quotas = _left(host.real(above))
    return host.shown(above), [("the file system", system), ("your quota", quotas)]


def _left(path: str) -> Tuple[QuotaLeft, QuotaLeft]:
    """What the file system has, and what the account's quotas leave, at an existing folder."""
    status = os.statvfs(path)
    system = QuotaLeft(status.f_bavail * status.f_frsize, status.f_favail if status.f_files else None)
    mount = mount_of(os.path.realpath(path), mount_points())
    text = _said(QUOTA)
    return system, tighter(
        read_left(text, mount), read_left(_unwrapped(_said(["lfs", "quota", "-q", path]), path), path)
    )


def _said(line: List[str]) -> str:
    """What a command prints; nothing where it is not there, or takes too long."""
    program = find_program(line[0], os.environ.get("PATH", ""))
    answer = run_program([program] + line[1:], os.environ, SECONDS) if program else None
    return answer.text if answer and not answer.why else ""


def _unwrapped(text: str, path: str) -> str:
    """lfs puts a long path on a line of its own."""
    return text.replace(path + "\n", path + " ")
