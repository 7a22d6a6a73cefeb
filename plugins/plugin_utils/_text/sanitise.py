# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Foreign text made fit to be seen: nothing in it moves a cursor, hides, or turns the direction of writing."""

from __future__ import annotations

LONGEST = 20_000
UNSEEN = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that call themselves printable and show nothing."""


def harmless(text: object, longest: int = LONGEST) -> str:
    """The text without control characters (line ends stay) and not too long."""
    return "\n".join(_printable(line) for line in str(text)[:longest].split("\n"))


def _printable(line: str) -> str:
    """The line, a question mark for each control character. Nearly every line has none: it is asked as a whole."""
    return line if line.isprintable() else "".join(c if c.isprintable() else "?" for c in line)


def clean(text: object) -> str:
    """The text without anything that moves a cursor; line ends stay, tabs and other blanks become blanks."""
    out = str(text).replace("\r\n", "\n").replace("\t", "    ")
    return "".join(c if c.isprintable() or c == "\n" else " " if c.isspace() else "?" for c in out)


def flat(text: object) -> str:
    """Clean text in one line."""
    return clean(text).replace("\n", " ")


def visible(text: str) -> str:
    """The text with what cannot be seen, or turns the direction of writing, spelled out: backslash, u, four digits."""
    if text.isprintable() and not UNSEEN & set(text):
        return text
    return "".join(c if c.isprintable() and c not in UNSEEN else _spelled(c) for c in text)


def _spelled(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
