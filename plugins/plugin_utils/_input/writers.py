# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that run programs as the user, such as an accounts file: whether another user can write them."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path


def find_other_writers(file: Path) -> str:
    """Return why users other than this one and root can write a file, or replace it; empty if they cannot."""
    for path in dict.fromkeys((file.absolute(), file.absolute().parent, file.resolve(), file.resolve().parent)):
        found = path.lstat()
        if found.st_uid not in (0, os.getuid()):
            return f"{abbreviate_home(path)} belongs to another user"
        if stat.S_ISLNK(found.st_mode) or (stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX):
            continue  # a link has no mode; in a sticky folder only its owner replaces the file
        if found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not _is_private_group(found.st_gid)):
            return f"other users can write to {abbreviate_home(path)}"
    return ""


def abbreviate_home(path: Path) -> str:
    """Return the path as people write it."""
    text, home = str(path), os.path.expanduser("~") + os.sep
    return f"~/{text[len(home) :]}" if text.startswith(home) else text


def _is_private_group(group: int) -> bool:
    """Return True for the group that many systems give each user: of the user's name, without other members."""
    try:
        name, there = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return there.gr_name == name and set(there.gr_mem) <= {name}
