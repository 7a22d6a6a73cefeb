# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text in the cells of a terminal: how wide it is, and where it may be broken or shortened."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

BREAKS = "/,:=@+&?"
"""Behind these a path or a list may be broken when it is wider than the terminal."""

TOGETHER = re.compile(r"( *)('[^' ]+(?: +[^' ]+)+'[^ ]*|\([^() ]+(?: +[^() ]+)+\)[^ ]*|[^ ]+)")
LONGEST_TOGETHER = 44


def cells(text: str) -> int:
    """How many cells the text takes: two for wide characters, none for those that combine."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, room: int, ellipsis: str) -> str:
    """The beginning of a text that is wider than its room. For what is seen for a moment, never for results."""
    if cells(text) <= room:
        return text
    left = max(0, room - cells(ellipsis))
    return (_head(text, left).rstrip() + ellipsis) if left else _head(text, room)


def _head(text: str, room: int) -> str:
    """As much of the text as fits; what combines with the last character stays with it."""
    taken = 0
    for position, character in enumerate(text):
        taken += _cell(character)
        if taken > room:
            return text[:position]
    return text


def pieces(word: str, room: int) -> Iterator[str]:
    """A word that is wider than the room in pieces that fit, broken behind a slash or the like where there is one."""
    while cells(word) > room:
        head = _head(word, room) or word[:1]
        cut = max((head.rfind(mark) + 1 for mark in BREAKS), default=0)
        head = head[:cut] if cut > len(head) // 2 else head
        yield head
        word = word[len(head) :]
    yield word


def laid(text: str, first: int, indent: int, width: int, outdent: int = 4) -> list[tuple[int, str]]:
    """The text in lines of (indentation, words) that fit into the width; nothing of it is left out.

    first: where the first line begins. A word that is too wide for its column, a path say, gets a line
    of its own further left, so that it can be copied; only one wider than the terminal is broken.
    """
    lines: list[tuple[int, str]] = []
    start = first
    for paragraph in text.split("\n"):
        lines += _paragraph(paragraph, start, indent, width, outdent)
        start = indent
    return lines


def _paragraph(text: str, first: int, indent: int, width: int, outdent: int) -> Iterator[tuple[int, str]]:
    start, line, fresh = first, "", True
    for gap, word in _words(text):
        token = gap + word if line or fresh else word
        if cells(line + token) <= width - start:
            line, fresh = line + token, False
            continue
        yield start, line
        start, line, fresh = indent, word, False
        if cells(word) > width - indent:
            *alone, (start, line) = _alone(word, outdent, indent if indent <= 8 else outdent, width)
            yield from alone
    yield start, line


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Each word with the blanks before it; a short text in quotes or brackets, a command say, is one word."""
    for gap, word in TOGETHER.findall(text):
        if cells(word) <= LONGEST_TOGETHER:
            yield gap, word
        else:
            yield from re.findall(r"( *)([^ ]+)", gap + word)


def _alone(word: str, outdent: int, broken_at: int, width: int) -> Iterator[tuple[int, str]]:
    """A word that is too wide for the column: as far to the right as it fits, or in pieces."""
    spare = width - cells(word)
    if spare >= 0:
        yield min(outdent, spare), word
    else:
        for piece in pieces(word, width - broken_at):
            yield broken_at, piece
