# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the engine, packed: made once for an installation and kept in the user's cache (XDG base directories).

What is kept runs on accounts. It is taken only from a file that nobody but the user can have written, in a folder of
the same kind, and only if it was made of the very sources that lie here and is whole; else it is made anew.
"""

from __future__ import annotations

import binascii
import json
import os
import stat
import zlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TypedDict

MODULE_UTILS = Path(__file__).parents[2] / "module_utils"
SOURCES = (Path(__file__).with_name("packing.py"), *sorted(MODULE_UTILS.glob("_[a-z]*/*.py")))
CLOSED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Parts(TypedDict):
    """All that may be sent, each part a line of its own."""

    engine: str  # what every plan needs
    modules: dict[str, str]  # the others, by their name below module_utils: _resources.directory
    needs: dict[str, list[str]]  # which of these a module cannot do without, itself among them


def packed(document: Mapping[str, Any]) -> str:
    """The document in a line that any shell takes for a comment: fish reads all its input before it runs a line.

    Pressed harder, it would take a third more time and be 0.5 % smaller.
    """
    return "#" + binascii.b2a_base64(zlib.compress(json.dumps(document).encode(), 6)).decode()


def file() -> Path:
    """Where the parts of this installation are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "hpc.onboard" / "engine" / sha256(str(MODULE_UTILS).encode()).hexdigest()[:16]


def seal_of_sources() -> bytes:
    """What the sources are, by their content, and what packs them."""
    seal = sha256()
    for source in SOURCES:
        text = source.read_bytes()
        seal.update(b"%s %d\n" % (source.name.encode(), len(text)) + text)
    return seal.hexdigest().encode()


def sealed(seal: bytes, content: bytes) -> bytes:
    """What is kept, with what it was made of and its own sum before it."""
    return b"%s %s\n%s" % (seal, sha256(content).hexdigest().encode(), content)


def kept(seal: bytes) -> Parts | None:
    """What is kept of these sources; None where there is nothing that can be trusted."""
    path = file()
    folder = handle = -1
    try:
        folder = os.open(path.parent, CLOSED | os.O_DIRECTORY)
        handle = os.open(path.name, CLOSED, dir_fd=folder)
        if not (_is_mine(os.fstat(folder), stat.S_IFDIR) and _is_mine(os.fstat(handle), stat.S_IFREG)):
            return None
        with open(handle, "rb", closefd=False) as stream:
            whole = stream.read()
    except OSError:
        return None
    finally:
        for one in (folder, handle):
            if one >= 0:
                os.close(one)
    content = whole.partition(b"\n")[2]
    found: Parts | None = json.loads(content) if whole == sealed(seal, content) else None
    return found


def _is_mine(found: os.stat_result, kind: int) -> bool:
    """Whether it is of that kind, and nobody else can have written there."""
    return stat.S_IFMT(found.st_mode) == kind and found.st_uid == os.getuid() and not found.st_mode & 0o077
