# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The width of texts in cells of a terminal, and texts that are cut or broken to fit into a number of cells.

A cell is the room for one letter; a Chinese character, for example, fills two cells.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

BREAKS = "/,:=@+&?"
"""A path or list that is wider than the terminal may be broken after these characters."""


def count_cells(text: str) -> int:
    """Return the width of a text in cells: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(_count_character_cells(character) for character in text)


def _count_character_cells(character: str) -> int:
    """Return the cells of one character: 0 for a combining or invisible one, 2 for a wide one, else 1."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):  # two kinds of combining marks, invisible characters
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1  # W: wide, F: full width


def truncate(text: str, room: int, ellipsis: str) -> str:
    """Return the text, cut to `room` cells with this ellipsis at its end if it is wider.

    Only for lists and the live line, never for results.
    """
    if count_cells(text) <= room:
        return text
    room_for_text = max(0, room - count_cells(ellipsis))
    if not room_for_text:
        return _cut(text, room)  # without the ellipsis
    return _cut(text, room_for_text).rstrip() + ellipsis


def _cut(text: str, room: int) -> str:
    """Return the beginning of the text that fits into `room` cells, with all characters that combine with its last."""
    cells = 0
    for position, character in enumerate(text):
        cells += _count_character_cells(character)
        if cells > room:
            return text[:position]
    return text


def split_word(word: str, room: int) -> Iterator[str]:
    """Yield a word in pieces of at most `room` cells, broken after a character of BREAKS if possible."""
    while count_cells(word) > room:
        head = _cut(word, room) or word[:1]  # a wide character is one piece, even if it does not fit
        end = max(head.rfind(mark) + 1 for mark in BREAKS)
        head = head[:end] if end > len(head) // 2 else head  # without this condition, a piece could be very short
        yield head
        word = word[len(head) :]
    yield word


def fit_names(names: Sequence[str], room: int) -> str:
    """Return the names that fit into `room` cells, at least one, and the number of the others."""
    room -= len(" and 999 others")  # reserved for the number of names that do not fit
    shown = list(names[:1])
    for name in names[1:]:
        if count_cells(", ".join([*shown, name])) > room:
            break
        shown.append(name)
    others = len(names) - len(shown)
    return ", ".join(shown) + (f" and {others:,} other{'s' if others > 1 else ''}" if others else "")
