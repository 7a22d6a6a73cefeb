# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mark in generated text, with a hash that shows if the text was edited since."""

import re

from . import hashes

STAMP = re.compile(r"^# Kept by hpc\.onboard \(([0-9a-f]{12})\)", re.MULTILINE)
LINE = "# Kept by hpc.onboard (%s): change it in your accounts file, or delete it here.\n"


def digest(text: str) -> str:
    """Return twelve hexadecimal digits of a text's hash."""
    return hashes.digest(text.encode("utf-8", "surrogateescape")).hex()[:12]


def add_mark(script: str) -> str:
    """Return the script with the mark after its first line, which may be #!."""
    first, newline, rest = script.partition("\n")
    return first + newline + LINE % digest(script) + rest


def has_mark(text: str) -> bool:
    """Return True if the text has the mark."""
    return STAMP.search(text) is not None


def is_unchanged(text: str) -> bool:
    """Return True if the text has the mark and its hash fits, whatever version wrote it."""
    found = STAMP.search(text)
    if not found:
        return False
    end = text.find("\n", found.end()) + 1
    return digest(text[: found.start()] + text[end:]) == found.group(1)
