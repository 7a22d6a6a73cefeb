# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read text files without blocking and without a new access time. Of any other file, only the beginning is read."""

import os
import re
import stat
from typing import IO

from .._core.files import READ, open_for_reading

SNIFFED = 8192  # first bytes of a file that decide if it is a text
PIECE = 1024 * 1024  # bytes that are read at a time
BINARY_WITH_TEXT = (b"SQLite format 3\0", b"b0VIM ")  # databases, such as histories; swap files of vim
_ESCAPED = re.compile(rb"\\x([2-7][0-9a-f])")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # the byte-order marks of texts from Windows


def read_text_file(path: str, most: int) -> bytes:
    """Return up to most bytes of a text file; empty if the path is not a regular file of this user, or not a text.

    A text has no NUL in its first bytes. Raise OSError if the file cannot be read.
    """
    handle = open_for_reading(path, READ)
    with os.fdopen(handle, "rb", 0) as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or not status.st_size:
            return b""
        # A file without blocks has no data, or was moved to tape. A small file may be stored in its inode instead.
        if status.st_size > SNIFFED and not status.st_blocks:
            return b""
        content = _read_up_to(stream, SNIFFED)
        if b"\0" in content and not content.startswith(BINARY_WITH_TEXT + UTF_16):
            return b""
        if len(content) < SNIFFED:  # the whole file
            return content
        return content + _read_up_to(stream, most - len(content))


def to_utf_8(content: bytes) -> bytes:
    """Return a UTF-16 text, as programs of Windows write it, in UTF-8. Any other text is returned unchanged."""
    is_utf_16 = content.startswith(UTF_16) and b"\0" in content[:SNIFFED]
    return content.decode("utf-16", "replace").encode("utf-8", "replace") if is_utf_16 else content


def unescape_fish(content: bytes) -> bytes:
    """Return the content of fish_variables with the characters that fish writes as escapes, such as \\x2d."""
    return _ESCAPED.sub(lambda match: bytes([int(match.group(1), 16)]), content)


def _read_up_to(stream: IO[bytes], most: int) -> bytes:
    """Return up to most bytes; fewer only at the end of the file."""
    pieces = []
    while most > 0:  # a single read() may return fewer bytes before the end
        piece = stream.read(min(most, PIECE))
        if not piece:
            break
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
