# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comment line that marks a generated text, with a hash that shows whether the text was edited since."""

import re

from . import hashes

MARK = re.compile(r"^# Kept by hpc\.onboard \(([0-9a-f]{12})\)", re.MULTILINE)
# the mark, in which the hash of the text is inserted
LINE = "# Kept by hpc.onboard (%s): change it in your accounts file, or delete it here.\n"


def hash_text(text: str) -> str:
    """Return the first twelve hexadecimal digits of a text's SHA-256."""
    return hashes.digest(text.encode("utf-8", "surrogateescape")).hex()[:12]


def add_mark(text: str) -> str:
    """Return the text with the mark as its second line, since the first line of a script may begin with #!."""
    first, newline, rest = text.partition("\n")
    return first + newline + LINE % hash_text(text) + rest


def has_mark(text: str) -> bool:
    """Return True if the text has the mark, edited or not."""
    return MARK.search(text) is not None


def is_unchanged(text: str) -> bool:
    """Return True if the text has the mark, and its hash shows that the text was not edited."""
    found = MARK.search(text)
    if not found:
        return False
    end = text.find("\n", found.end()) + 1  # the hash does not include the line of the mark
    return hash_text(text[: found.start()] + text[end:]) == found.group(1)
