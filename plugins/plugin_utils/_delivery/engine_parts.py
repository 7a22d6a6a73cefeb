# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packed engine, made once per installation and kept in the user's cache (XDG base directories).

The cached engine runs on accounts. So it is used only if no other user can have written its file or folder, if it was
made of the sources of this installation, and if it is complete; otherwise it is made again.
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


class EngineParts(TypedDict):
    """Everything that may be sent; each part is one line."""

    sources: str  # their digest, in hex
    engine: str  # what every plan needs; the dictionary of the modules
    modules: dict[str, str]  # the others, by their name below module_utils: _resources.directory
    needs: dict[str, list[str]]  # the modules that a module requires, including itself


def pack(document: Mapping[str, Any], dictionary: bytes = b"") -> str:
    """Return the document compressed in one line that every shell reads as a comment.

    A higher level of compression would take a third more time and save 0.5 %.

    dictionary: text that it resembles, which the account has by then; a small module is a quarter smaller with it.
    """
    level = (zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, zlib.MAX_WBITS)
    stream = zlib.compressobj(*level, zdict=dictionary) if dictionary else zlib.compressobj(*level)
    return "#" + binascii.b2a_base64(stream.compress(json.dumps(document).encode()) + stream.flush()).decode()


def unpack(line: str) -> bytes:
    """Return the document in a line that was packed without a dictionary, as JSON."""
    return zlib.decompress(binascii.a2b_base64(line[1:]))


def cache_file() -> Path:
    """Return the path of the cached engine of this installation."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "hpc.onboard" / "engine" / sha256(str(MODULE_UTILS).encode()).hexdigest()[:16]


def hash_sources() -> bytes:
    """Return a digest of the sources of the engine, and of the code that packs them."""
    digest = sha256()
    for source in SOURCES:
        text = source.read_bytes()
        digest.update(b"%s %d\n" % (source.name.encode(), len(text)) + text)
    return digest.hexdigest().encode()


def seal(digest: bytes, content: bytes) -> bytes:
    """Return the content after a line with the digest of its sources and its own."""
    return b"%s %s\n%s" % (digest, sha256(content).hexdigest().encode(), content)


def read_cache(digest: bytes) -> EngineParts | None:
    """Return the cached engine of these sources, or None if there is none that can be trusted."""
    path = cache_file()
    folder = handle = -1
    try:
        folder = os.open(path.parent, CLOSED | os.O_DIRECTORY)
        handle = os.open(path.name, CLOSED, dir_fd=folder)
        if not (_is_private(os.fstat(folder), stat.S_IFDIR) and _is_private(os.fstat(handle), stat.S_IFREG)):
            return None
        with open(handle, "rb", closefd=False) as stream:
            whole = stream.read()
    except OSError:
        return None
    finally:
        for descriptor in (folder, handle):
            if descriptor >= 0:
                os.close(descriptor)
    content = whole.partition(b"\n")[2]
    parts: EngineParts | None = json.loads(content) if whole == seal(digest, content) else None
    return parts


def _is_private(status: os.stat_result, kind: int) -> bool:
    """Return True for a file or folder of this kind that only the user can have written."""
    return stat.S_IFMT(status.st_mode) == kind and status.st_uid == os.getuid() and not status.st_mode & 0o077
