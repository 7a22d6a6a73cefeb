# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that git tracks, from its index.

Format: https://git-scm.com/docs/index-format, versions 2 to 4.
"""

import struct
from typing import FrozenSet

BEFORE = 40  # bytes of an entry before the object name: times, device, mode, owner, size
EXTENDED = 0x4000


def read_paths(content: bytes, object_bytes: int = 20) -> FrozenSet[str]:
    """Return the paths in an index, as latin-1. object_bytes: 20, or 32 for SHA-256. Raise ValueError if invalid."""
    if content[:4] != b"DIRC" or len(content) < 12:
        raise ValueError("no index")
    version, count = struct.unpack(">II", content[4:12])
    if version not in (2, 3, 4):
        raise ValueError("another version")
    found = set()
    at, path = 12, b""
    for _entry in range(count):
        start = at
        at += BEFORE + object_bytes + 2
        flags = int.from_bytes(content[at - 2 : at], "big")
        at += 2 if version > 2 and flags & EXTENDED else 0
        kept = b""
        if version == 4:
            gone, at = _number(content, at)
            kept = path[: len(path) - gone]
        end = content.index(b"\0", at)  # raises ValueError if it is cut
        path = kept + content[at:end]
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        found.add(path.decode("latin-1"))
    return frozenset(found)


def _number(content: bytes, at: int) -> "tuple[int, int]":
    """Return a number of variable width, encoded as an offset in packs, and the position after it."""
    byte = content[at : at + 1] or b"\0"
    value = byte[0] & 0x7F
    while byte[0] & 0x80:
        at += 1
        byte = content[at : at + 1] or b"\0"
        value = ((value + 1) << 7) | (byte[0] & 0x7F)
    return value, at + 1
