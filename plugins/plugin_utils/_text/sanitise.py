# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make foreign text safe to display: no control characters, no invisible ones, no change of writing direction.

harmless() and its relatives are for data from accounts and servers, which they also limit in size. clean() is for text
that a terminal shows, and keeps its line breaks. visible() is for messages, and shows the codes of such characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MAX_LENGTH = 20_000  # characters of a text
MAX_NUMBER = 2**62  # larger numbers from accounts are limited or refused
INVISIBLE = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Invisible characters that Python considers printable."""
MAX_LEVELS = 20  # of nested values
CI_COMMAND = re.compile(
    r"##(?=\[|(?:vso|teamcity)\[)|::(?=(?:add-|remove-|set-|save-|stop-|end)?"
    r"(?:commands|command|debug|echo|env|error|group|mask|matcher|notice|output|path|state|summary|warning)\b)"
)
"""The beginning of a command that a CI system executes if it is in a log: docs.github.com/actions (workflow commands),
learn.microsoft.com/azure/devops (logging commands), jetbrains.com/help/teamcity (service messages)"""


def harmless(text: object, max_length: int = MAX_LENGTH) -> str:
    """Return foreign text in one line, shortened, with a question mark for each control or invisible character."""
    return _replace_unprintable(str(text)[:max_length].replace("\n", " "))


def harmless_lines(text: object, max_length: int = MAX_LENGTH) -> str:
    """Return the text as harmless() does, but with its line breaks. Callers indent the lines."""
    return "\n".join(map(_replace_unprintable, str(text)[:max_length].split("\n")))


def limit_number(number: Any) -> int:
    """Return a foreign number as a whole number from 0 to MAX_NUMBER.

    Raise TypeError, ValueError or OverflowError (infinity) for other data.
    """
    return min(max(0, int(number)), MAX_NUMBER)


def _replace_unprintable(line: str) -> str:
    """Return the line with a question mark for each control or invisible character."""
    if not (line.isascii() and line.isprintable()):  # a fast test, which nearly every line passes
        line = "".join(c if c.isprintable() and c not in INVISIBLE else "?" for c in line)
    return _break_ci_commands(line)


def _break_ci_commands(text: str) -> str:
    """Return the text with a question mark as the first character of each CI command, which is then ignored."""
    return CI_COMMAND.sub(lambda match: "?" + match[0][1:], text) if "::" in text or "##" in text else text


def clean(text: object) -> str:
    """Return the text with a question mark for each control or invisible character.

    Line breaks stay; tabs and other white space become spaces.
    """
    text = str(text).replace("\r\n", "\n").replace("\t", "    ")
    text = "".join(c if c.isprintable() or c == "\n" else " " if c.isspace() else "?" for c in text)
    return _break_ci_commands(text if text.isascii() else "".join("?" if c in INVISIBLE else c for c in text))


def clean_line(text: object) -> str:
    """Return the text as clean() does, in one line."""
    return clean(text).replace("\n", " ")


def visible(text: str) -> str:
    """Return the text with each control or invisible character written as \\uXXXX."""
    if not text.isprintable() or INVISIBLE & set(text):
        text = "".join(c if c.isprintable() and c not in INVISIBLE else _escape(c) for c in text)
    return _break_ci_commands(text)


def _escape(character: str) -> str:
    """Return a character as \\uXXXX, or \\UXXXXXXXX beyond the first 65536 characters."""
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def harmless_values(values: Mapping[str, Any], levels: int = MAX_LEVELS) -> dict[str, Any]:
    """Return foreign JSON data with harmless names (at most 500 characters) and texts (not shortened).

    levels: how deep lists and mappings may be nested. Raise ValueError for other data, see _harmless_value().
    """
    return {harmless(name, max_length=500): _harmless_value(value, levels) for name, value in values.items()}


def _harmless_value(value: Any, levels: int) -> Any:
    """Return a value of foreign JSON data with harmless texts. levels: see harmless_values().

    Raise ValueError for nesting that is too deep, a number that is too large or has a fraction, and any other type.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return harmless_lines(value, max_length=len(value))  # not shortened
    if isinstance(value, int) and abs(value) <= MAX_NUMBER:
        return value
    if isinstance(value, list) and levels:
        return [_harmless_value(item, levels - 1) for item in value]
    if isinstance(value, dict) and levels:
        return harmless_values(value, levels - 1)
    raise ValueError("not a plain value")
