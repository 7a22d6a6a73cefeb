# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a mapping from text, as on a command line: JSON, Python, or KEY=VALUE; with the results of Ansible's parser."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

PARSER_ERRORS = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)  # of JSON and Python


def read(text: str) -> dict[Any, Any] | None:
    """Return the mapping in a text; None if the text is not a mapping."""
    return _read_braces(text) if text.startswith("{") else _read_pairs(text)


def _read_braces(text: str) -> dict[Any, Any] | None:
    """Return the mapping in a text of JSON, or else of Python; None if it is neither."""
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except PARSER_ERRORS:
            continue
        if isinstance(value, dict):
            return value
    return None


def _read_pairs(text: str) -> dict[Any, Any] | None:
    """Return the mapping in KEY=VALUE pairs, separated by commas or spaces; None if a part is not a pair."""
    pairs = [field.partition("=") for field in _split_fields(text.strip()) if field]
    has_only_pairs = all(equals for _key, equals, _value in pairs)
    if "=" not in text or not has_only_pairs:  # text without = may have no parts at all
        return None
    return {key: value for key, _equals, value in pairs}


def _split_fields(text: str) -> Iterator[str]:
    """Yield the parts between commas or spaces. A quoted or escaped comma or space does not separate parts."""
    field, quote, is_escaped = "", "", False
    for letter in text:
        if is_escaped:  # the letter after a backslash
            field, is_escaped = field + letter, False
        elif letter == "\\":
            is_escaped = True
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
