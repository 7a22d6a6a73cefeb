# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Foreign text made fit to be seen: nothing in it moves a cursor, hides, or turns the direction of writing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LONGEST = 20_000
MOST = 2**62
UNSEEN = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that call themselves printable and show nothing."""
LEVELS = 20  # of values within each other
ORDER = re.compile(
    r"##(?=\[|(?:vso|teamcity)\[)|::(?=(?:add-|remove-|set-|save-|stop-|end)?"
    r"(?:commands|command|debug|echo|env|error|group|mask|matcher|notice|output|path|state|summary|warning)\b)"
)
"""The beginning of an order to a CI system, which reads them in a log: docs.github.com/actions (workflow commands),
learn.microsoft.com/azure/devops (logging commands), jetbrains.com/help/teamcity (service messages)"""


def harmless(text: object, longest: int = LONGEST) -> str:
    """The text in one line, without control characters and not too long: it begins no line of its own anywhere."""
    return _printable(str(text)[:longest].replace("\n", " "))


def harmless_lines(text: object, longest: int = LONGEST) -> str:
    """The text as harmless() makes it, with its line ends: for what is shown below something and further in."""
    return "\n".join(map(_printable, str(text)[:longest].split("\n")))


def bounded(number: Any) -> int:
    """A foreign count, which can be divided and shown: Python's own have no bound. Raises ValueError."""
    return min(max(0, int(number)), MOST)


def _printable(line: str) -> str:
    """The line, a question mark for each control character. Nearly every line has none: it is asked as a whole."""
    if not (line.isascii() and line.isprintable()):
        line = "".join(c if c.isprintable() and c not in UNSEEN else "?" for c in line)
    return _without_orders(line)


def _without_orders(text: str) -> str:
    """Return the text in which a CI system finds no order to it: a question mark breaks each."""
    return ORDER.sub(lambda found: "?" + found[0][1:], text) if "::" in text or "##" in text else text


def clean(text: object) -> str:
    """The text without anything that moves a cursor; line ends stay, tabs and other blanks become blanks."""
    out = str(text).replace("\r\n", "\n").replace("\t", "    ")
    seen = "".join(c if c.isprintable() or c == "\n" else " " if c.isspace() else "?" for c in out)
    return _without_orders(seen if seen.isascii() else "".join("?" if c in UNSEEN else c for c in seen))


def flat(text: object) -> str:
    """Clean text in one line."""
    return clean(text).replace("\n", " ")


def visible(text: str) -> str:
    """The text with what cannot be seen, or turns the direction of writing, spelled out: backslash, u, four digits."""
    if not text.isprintable() or UNSEEN & set(text):
        text = "".join(c if c.isprintable() and c not in UNSEEN else _spelled(c) for c in text)
    return _without_orders(text)


def _spelled(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def harmless_values(found: Mapping[str, Any], levels: int = LEVELS) -> dict[str, Any]:
    """Return foreign data by name, each text as harmless_lines() makes it. Raises ValueError for any other type."""
    return {harmless(name, 500): _harmless_value(value, levels) for name, value in found.items()}


def _harmless_value(value: Any, levels: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return harmless_lines(value, len(value))
    if isinstance(value, int) and abs(value) <= MOST:
        return value
    if isinstance(value, list) and levels:
        return [_harmless_value(one, levels - 1) for one in value]
    if isinstance(value, dict) and levels:
        return harmless_values(value, levels - 1)
    raise ValueError("no plain value")
