"""Makes and removes the users of a world, by its account files: useradd would take twenty times as long.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import itertools
import os
from pathlib import Path
from typing import NamedTuple

_numbers = itertools.count(20001)


class User(NamedTuple):
    """A user of a world."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str


def add_user(root: Path, name: str, group: str, home: str, shell: str) -> User:
    """Write a new user with no password (and not a locked one, which sshd would refuse), in this one group."""
    if _find(root / "etc/passwd", name):
        raise ValueError(f"{name}: this user exists")
    found = _find(root / "etc/group", group)
    gid = int(found[2]) if found else next(_numbers)
    if not found:
        _append(root / "etc/group", f"{group}:x:{gid}:")
    user = User(name, next(_numbers), gid, home, shell)
    _append(root / "etc/shadow", f"{name}:*:20000:0:99999:7:::")
    _append(root / "etc/passwd", f"{name}:x:{user.uid}:{user.gid}:Testbed user:{home}:{shell}")
    return user


def remove_user(root: Path, name: str) -> None:
    """Take the user's lines out. Files and processes are the caller's."""
    for file in ("etc/passwd", "etc/shadow"):
        lines = (root / file).read_text(encoding="utf-8").splitlines(keepends=True)
        kept = "".join(line for line in lines if not line.startswith(name + ":"))
        (root / file).write_text(kept, encoding="utf-8")


def make_folder(path: Path, uid: int, gid: int, mode: int) -> None:
    """Make a folder, its parents open to all, with this owner and mode."""
    path.mkdir(parents=True, exist_ok=True)
    os.chown(path, uid, gid)
    path.chmod(mode)


def _find(file: Path, name: str) -> list[str] | None:
    for line in file.read_text(encoding="utf-8").splitlines():
        fields = line.split(":")
        if fields[0] == name:
            return fields
    return None


def _append(file: Path, line: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
