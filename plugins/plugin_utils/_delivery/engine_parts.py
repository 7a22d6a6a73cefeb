# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packed engine: hpc-onboard's program for accounts, in compressed lines that can be sent to an account.

It is made once per installation and stored in the user's cache (XDG base directories).

Because the cached engine runs on accounts, it is used only if no other user can have written its file or folder, if it
was made of the sources of this installation, and if it is complete. Otherwise it is packed again.
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
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class EngineParts(TypedDict):
    """Everything that may be sent; each part is one line."""

    sources: str  # their digest, in hex
    engine: str  # the modules that every plan needs; also the dictionary with which the others are compressed
    modules: dict[str, str]  # the other modules, by their name below module_utils, such as _resources.directory
    needs: dict[str, list[str]]  # by module: the other modules that it requires, and itself


def pack(document: Mapping[str, Any], dictionary: bytes = b"") -> str:
    """Return the document compressed in one line that every shell reads as a comment.

    dictionary: similar text that the account has already; it makes a small module a quarter smaller.
    """
    # The highest: 20 kB take 0.2 ms longer than with the default, and the engine is packed once per installation.
    level = memory = 9
    parameters = (level, zlib.DEFLATED, zlib.MAX_WBITS, memory)
    stream = zlib.compressobj(*parameters, zdict=dictionary) if dictionary else zlib.compressobj(*parameters)
    return "#" + binascii.b2a_base64(stream.compress(json.dumps(document).encode()) + stream.flush()).decode()


def unpack(line: str) -> bytes:
    """Return the document in a line that was packed without a dictionary, as JSON."""
    return zlib.decompress(binascii.a2b_base64(line[1:]))


def cache_folder() -> Path:
    """Return the folder for files of hpc-onboard that can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "hpc.onboard"


def cache_file() -> Path:
    """Return the path of the cached engine of this installation."""
    return cache_folder() / "engine" / sha256(str(MODULE_UTILS).encode()).hexdigest()[:16]


def hash_sources() -> bytes:
    """Return one digest, in hex, of the sources of the engine and of the code that packs them."""
    digest = sha256()
    for source in SOURCES:
        text = source.read_bytes()
        digest.update(b"%s %d\n" % (source.name.encode(), len(text)) + text)
    return digest.hexdigest().encode()


def add_digests(source_digest: bytes, content: bytes) -> bytes:
    """Return the content of the cache below a line with two digests: of the engine's sources, and of the content."""
    return b"%s %s\n%s" % (source_digest, sha256(content).hexdigest().encode(), content)


def read_cache(source_digest: bytes) -> EngineParts | None:
    """Return the cached engine; None if it was made of other sources, cannot be trusted, or does not exist.

    source_digest: the digest of the present sources, from hash_sources().
    """
    path = cache_file()
    folder = file = -1
    try:
        folder = os.open(path.parent, READ_FLAGS | os.O_DIRECTORY)
        file = os.open(path.name, READ_FLAGS, dir_fd=folder)
        if not (_is_private(os.fstat(folder), stat.S_IFDIR) and _is_private(os.fstat(file), stat.S_IFREG)):
            return None
        with open(file, "rb", closefd=False) as stream:
            cached = stream.read()
    except OSError:
        return None
    finally:
        for descriptor in (folder, file):
            if descriptor >= 0:
                os.close(descriptor)
    content = cached.partition(b"\n")[2]
    parts: EngineParts | None = json.loads(content) if cached == add_digests(source_digest, content) else None
    return parts


def _is_private(status: os.stat_result, file_type: int) -> bool:
    """Return True for a file or folder (stat.S_IFREG, S_IFDIR) that only the user can have written."""
    return stat.S_IFMT(status.st_mode) == file_type and status.st_uid == os.getuid() and not status.st_mode & 0o077
