# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where file systems are mounted, so that one that hangs is known without being asked."""

from typing import List


def mount_of(path: str, mounts: List[str]) -> str:
    """The mount point that path lies below; decided by names alone, no file system is asked."""
    inside = [m for m in mounts if path == m or path.startswith(m.rstrip("/") + "/")]
    return max(inside, key=len) if inside else "/"


def mount_points() -> List[str]:
    """The mount points of this machine, from the kernel's table; the file systems are not asked."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as table:
            return [line.split()[4].encode("latin-1", "replace").decode("unicode_escape") for line in table]
    except OSError:
        return []
