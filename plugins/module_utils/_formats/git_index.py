# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the files that git tracks from its index.

Format: https://git-scm.com/docs/index-format, versions 2 to 4.
"""

import struct
from typing import FrozenSet

STATUS_BYTES = 40  # the first part of an entry: times, device, inode, mode, owner and size of the file
EXTENDED = 0x4000  # a flag: two more bytes of flags follow


def read_paths(content: bytes, object_bytes: int) -> FrozenSet[str]:
    """Return the paths in the content of an index, decoded as latin-1. Raise ValueError if the content is invalid.

    object_bytes: the length of an object name, 20 for SHA-1 or 32 for SHA-256.
    """
    if content[:4] != b"DIRC" or len(content) < 12:
        raise ValueError("not an index")
    version, count = struct.unpack(">II", content[4:12])
    if version not in (2, 3, 4):
        raise ValueError("unsupported version")
    paths = set()
    offset, path = 12, b""  # the first entry is after the header
    for _entry in range(count):
        start = offset
        offset += STATUS_BYTES + object_bytes + 2  # status, object name, and two bytes of flags
        flags = int.from_bytes(content[offset - 2 : offset], "big")
        offset += 2 if version > 2 and flags & EXTENDED else 0
        prefix = b""
        if version == 4:  # a path shares its beginning with the one before it
            removed, offset = _read_number(content, offset)
            prefix = path[: len(path) - removed]
        end = content.index(b"\0", offset)  # raises ValueError if the file is truncated
        path = prefix + content[offset:end]
        offset = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8  # padded to 8 bytes
        paths.add(path.decode("latin-1"))
    return frozenset(paths)


def _read_number(content: bytes, offset: int) -> "tuple[int, int]":
    """Return a number of variable width (see "offset encoding" in git's pack format) and the offset after it."""
    byte = content[offset : offset + 1] or b"\0"  # a truncated file ends the number
    value = byte[0] & 0x7F
    while byte[0] & 0x80:
        offset += 1
        byte = content[offset : offset + 1] or b"\0"
        value = ((value + 1) << 7) | (byte[0] & 0x7F)
    return value, offset + 1
