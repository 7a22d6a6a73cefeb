# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mapping that was written as text, as on a command line: JSON, Python, or KEY=VALUE; read as Ansible reads it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

UNREADABLE = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)  # what the two parsers may raise


def read(text: str) -> dict[Any, Any] | None:
    """The mapping; None where the text is none."""
    return _in_braces(text) if text.startswith("{") else _pairs(text)


def _in_braces(text: str) -> dict[Any, Any] | None:
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(text)
        except UNREADABLE:
            continue
        if isinstance(found, dict):
            return found
    return None


def _pairs(text: str) -> dict[Any, Any] | None:
    pairs = [field.partition("=") for field in _fields(text.strip()) if field]
    if "=" not in text or not all(equals for _key, equals, _value in pairs):
        return None
    return {key: value for key, _equals, value in pairs}


def _fields(text: str) -> Iterator[str]:
    """What stands between commas or blanks; quotes hold blanks together, a backslash takes a character as it is."""
    field, quote, escaped = "", "", False
    for letter in text:
        if escaped:
            field, escaped = field + letter, False
        elif letter == "\\":
            escaped = True
        elif not quote and letter in "'\"":
            quote = letter
        elif quote and letter == quote:
            quote = ""
        elif not quote and letter in ", ":
            yield field
            field = ""
        else:
            field += letter
    yield field
