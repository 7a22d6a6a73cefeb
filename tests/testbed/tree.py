"""Every path below a folder, in all that shows whether it was touched.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo"}


class Entry(NamedTuple):
    """One path. Equal before and after means: nobody wrote, replaced, moved or re-moded it."""

    kind: str
    mode: int
    size: int
    mtime_ns: int
    inode: int
    content: str
    """A link's target, a file's SHA-256, else empty."""


def entries(folder: Path, shown: str, owner: int | None = None) -> Iterator[tuple[str, Entry]]:
    """Give path and entry of the folder and all below it; with an owner, only what belongs to this uid."""
    for where, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(where) / name).is_symlink()]
        here = [Path(where) / name for name in files + links]
        for path in [Path(where), *here]:
            found = path.lstat()
            if owner is None or found.st_uid == owner:
                name = shown if path == folder else f"{shown}/{path.relative_to(folder)}"
                yield name, _entry(path, found)


def _entry(path: Path, found: os.stat_result) -> Entry:
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), "other")
    content = ""
    if kind == "link":
        content = str(path.readlink())
    elif kind == "file":
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    return Entry(kind, stat.S_IMODE(found.st_mode), found.st_size, found.st_mtime_ns, found.st_ino, content)
