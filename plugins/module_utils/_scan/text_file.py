# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that may be a text: read without blocking, without a trace, and only so far as that is decided."""

import os
import re
import stat
from typing import IO

from .._core.files import READ, open_for_reading

SNIFFED = 8192  # bytes by which a text is told from other files
PIECE = 1024 * 1024
TEXTS_INSIDE = (b"SQLite format 3\0", b"b0VIM ")  # a database, such as a history; what vim saves of an edited file
_ESCAPED = re.compile(rb"\\x([2-7][0-9a-f])")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # of Windows


def read_text_file(path: str, most: int) -> bytes:
    """Return up to so many bytes of a regular file of this user; none if it is not a text. Raises OSError.

    A text has no NUL in its first bytes. One that is only holes, or that was moved to tapes, is not read.
    """
    handle = open_for_reading(path, READ)
    with os.fdopen(handle, "rb", 0) as stream:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or not found.st_size:
            return b""
        if found.st_size > SNIFFED and not found.st_blocks:
            return b""
        content = _read_up_to(stream, SNIFFED)
        if b"\0" in content and not content.startswith(TEXTS_INSIDE + UTF_16):
            return b""
        return content if len(content) < SNIFFED else content + _read_up_to(stream, most - len(content))


def to_utf_8(content: bytes) -> bytes:
    """Return a text of Windows in UTF-8, and any other as it is."""
    is_wide = content.startswith(UTF_16) and b"\0" in content[:SNIFFED]
    return content.decode("utf-16", "replace").encode("utf-8", "replace") if is_wide else content


def unescape_fish(content: bytes) -> bytes:
    """Return fish's universal variables with the characters that it writes as numbers (\\x2d)."""
    return _ESCAPED.sub(lambda found: bytes([int(found.group(1), 16)]), content)


def _read_up_to(stream: IO[bytes], most: int) -> bytes:
    """Return so many bytes, or all that there are: a system call may return fewer."""
    pieces = []
    while most > 0:
        piece = stream.read(min(most, PIECE))
        if not piece:
            break
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
