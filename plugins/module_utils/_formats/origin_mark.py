# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that says of itself that we made it, and whether a hand has changed it since."""

import re

from . import hashes

STAMP = re.compile(r"^# Kept by hpc\.onboard \(([0-9a-f]{12})\)", re.MULTILINE)
LINE = "# Kept by hpc.onboard (%s): change it in your accounts file, or delete it here.\n"


def digest(text: str) -> str:
    """Twelve hexadecimal digits that stand for a text."""
    return hashes.digest(text.encode("utf-8", "surrogateescape")).hex()[:12]


def add_mark(script: str) -> str:
    """The script with our line behind its first one (the #! line)."""
    first, newline, rest = script.partition("\n")
    return first + newline + LINE % digest(script) + rest


def has_mark(text: str) -> bool:
    """Whether we wrote this text once."""
    return STAMP.search(text) is not None


def is_unchanged(text: str) -> bool:
    """Whether the text is as we wrote it, in whatever version."""
    found = STAMP.search(text)
    if not found:
        return False
    end = text.find("\n", found.end()) + 1
    return digest(text[: found.start()] + text[end:]) == found.group(1)
