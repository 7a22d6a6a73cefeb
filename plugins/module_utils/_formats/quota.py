# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What quota and lfs quota print for programs: how much of a limit is left. What people are shown: quota_tables.py.

quota: https://sourceforge.net/projects/linuxquota/, lfs quota: https://doc.lustre.org/lustre_manual.xhtml
"""

import re
from typing import NamedTuple, Optional

ROW = r"^\s*%s\s+(\d+)\*?\s+(\d+)\s+(\d+)\s+\S+\s+(\d+)\*?\s+(\d+)\s+(\d+)\s+\S+"


class Room(NamedTuple):
    """What may still be written: bytes and files; None where there is no limit."""

    bytes: Optional[int]
    files: Optional[int]


def left(text: str, mount: str) -> Room:
    """The least that is left of all limits that stand for this mount point. Both commands count in KiB."""
    room = Room(None, None)
    for row in re.finditer(ROW % re.escape(mount), text, re.MULTILINE):
        used, soft, hard, files, soft_files, hard_files = (int(number) for number in row.groups())
        room = least(room, Room(_rest(used * 1024, soft * 1024, hard * 1024), _rest(files, soft_files, hard_files)))
    return room


def least(one: Room, other: Room) -> Room:
    """The tighter of two."""
    return Room(_least(one.bytes, other.bytes), _least(one.files, other.files))


def _least(one: Optional[int], other: Optional[int]) -> Optional[int]:
    known = [number for number in (one, other) if number is not None]
    return min(known) if known else None


def _rest(used: int, soft: int, hard: int) -> Optional[int]:
    """What is left below the hard limit, or below the soft one where no other is set; zero is no limit."""
    limit = hard or soft
    return max(0, limit - used) if limit else None
