"""A small terminal: what a program wrote, as a person sees it, and whether it broke the width it was given.

It knows the line end, the return, the backspace and colours, and keeps every other escape sequence that it met.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

TOKEN = re.compile(r"\x1b\[(?P<codes>[0-9;?]*)(?P<kind>[A-Za-z])|(?P<other>\x1b.?)|(?P<text>.)", re.DOTALL)


class Cell(NamedTuple):
    """What stands in one cell. style: SGR codes, such as ('1', '32'); the second cell of a wide character is empty."""

    text: str = " "
    style: tuple[str, ...] = ()


def width(character: str) -> int:
    """How many cells a terminal takes for a character."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Screen:
    """A terminal of so many columns that scrolls without end."""

    def __init__(self, columns: int = 80) -> None:
        self.columns = columns
        self.rows: list[list[Cell]] = [[]]
        self.column = 0
        self.style: tuple[str, ...] = ()
        self.wrapped: list[str] = []
        self.colours = 0
        self.escapes: list[str] = []
        self._rest = ""

    def feed(self, text: str) -> None:
        """What the program wrote; an escape sequence may come in two parts."""
        text = self._rest + text
        cut = re.search(r"\x1b(\[[0-9;?]*)?\Z", text)
        self._rest = cut.group() if cut else ""
        for token in TOKEN.finditer(text[: cut.start()] if cut else text):
            if token["text"]:
                self._put(token["text"])
            elif token["kind"] == "m":
                self.colours += 1
                self._colour(token["codes"].split(";"))
            else:
                self.escapes.append(token.group())

    def _colour(self, codes: list[str]) -> None:
        self.style = () if codes in (["0"], [""]) else (*self.style, *codes)

    def _put(self, character: str) -> None:
        if character == "\n":
            self.rows.append([])
        elif character == "\r":
            self.column = 0
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character >= " ":
            self._draw(character, width(character))

    def _draw(self, character: str, wide: int) -> None:
        row = self.rows[-1]
        if not wide and self.column and self.column <= len(row):
            row[self.column - 1] = Cell(row[self.column - 1].text + character, row[self.column - 1].style)
            return
        if self.column + wide > self.columns:
            self.wrapped.append(self.line(-1))
            self.rows.append(row := [])
            self.column = 0
        row += [Cell()] * (self.column + wide - len(row))
        row[self.column : self.column + wide] = [Cell(character, self.style), *[Cell("")] * (wide - 1)]
        self.column += wide

    def line(self, number: int) -> str:
        """One row as text."""
        return "".join(cell.text for cell in self.rows[number]).rstrip()

    def lines(self) -> list[str]:
        """All rows as text."""
        return [self.line(number) for number in range(len(self.rows))]
