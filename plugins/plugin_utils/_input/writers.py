# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that no other user can write a file that makes programs run as this user, such as an accounts file."""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
from pathlib import Path


def find_other_writers(file: Path) -> str:
    """Return why a user other than this one and root could write or replace a file; empty if none can."""
    # If the file is a link, the link, its target and both folders must be safe.
    for path in dict.fromkeys((file.absolute(), file.absolute().parent, file.resolve(), file.resolve().parent)):
        entry = path.lstat()
        if entry.st_uid not in (0, os.getuid()):
            return f"{abbreviate_home(path)} belongs to another user"
        if stat.S_ISLNK(entry.st_mode) or (stat.S_ISDIR(entry.st_mode) and entry.st_mode & stat.S_ISVTX):
            continue  # a link's mode has no effect; in a sticky folder, only the owner can replace the file
        if entry.st_mode & stat.S_IWOTH or (entry.st_mode & stat.S_IWGRP and not _is_private_group(entry.st_gid)):
            return f"other users can write to {abbreviate_home(path)}"
    return ""


def write_protection_command(file: Path) -> str:
    """Return the command that stops other users from writing to a file, or replacing it or its link in a folder."""
    folders = dict.fromkeys((file.parent, file.resolve().parent if file.is_symlink() else file.parent))
    return shlex.join(["chmod", "go-w", *map(str, (file, *folders))])


def abbreviate_home(path: Path) -> str:
    """Return the path with ~ for the home directory."""
    text, home = str(path), os.path.expanduser("~") + os.sep
    return f"~/{text[len(home) :]}" if text.startswith(home) else text


def _is_private_group(group: int) -> bool:
    """Return True for the group that many systems create for each user: with the user's name and no other member."""
    try:
        name, entry = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False  # an unknown group may have any members
    return entry.gr_name == name and set(entry.gr_mem) <= {name}
