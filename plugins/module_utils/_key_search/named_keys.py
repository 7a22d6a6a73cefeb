# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that have no form of their own, by the variable that a program reads them from: MISTRAL_API_KEY=...

The value must look drawn at random. Kaggle's is known by the file that Kaggle hands out.
"""

import re
from typing import List, Tuple

_MARKS = (b"API_KEY", b"APIKEY", b"API_TOKEN", b"ACCESS_TOKEN", b"AUTH_TOKEN", b"KAGGLE_KEY", b'"username"')
_NAMED = re.compile(
    rb"\b([A-Z][A-Z0-9_]{1,40}_(?:API_?KEY|API_TOKEN|ACCESS_TOKEN|AUTH_TOKEN)|KAGGLE_KEY)"
    rb"[\"'\])]*[ \t]*[=:, ][ \t]*[\"']?"
    rb"([A-Za-z0-9_+/-]{20,128})(?![A-Za-z0-9_+/.(:$%{}\[<@-])"
)
_KAGGLE = re.compile(rb'"username"\s*:\s*"[^"\n]{1,60}"\s*,\s*"key"\s*:\s*"([0-9a-f]{32})"')
_PART = re.compile(r"[-_/+]")
_AMONG = re.compile(r"\d[A-Za-z]")  # a digit in the middle of a part
_FEWEST_DIGITS = 3


def find_named_keys(content: bytes) -> List[Tuple[int, str, str]]:
    """Return where each such key begins, itself, and what it is."""
    if not any(mark in content for mark in _MARKS):
        return []
    found = []
    for match in _NAMED.finditer(content):
        name, value = (part.decode("ascii") for part in match.groups())
        if _is_drawn(value):
            found.append((match.start(2), value, "the value of %s" % name))
    return found + [
        (match.start(1), match.group(1).decode("ascii"), "a Kaggle key") for match in _KAGGLE.finditer(content)
    ]


def _is_drawn(value: str) -> bool:
    """Return True if a value has letters and digits among each other, and does not consist of words."""
    parts = _PART.split(value)
    words = [part for part in parts if part.isalpha() and len(part) > 2]
    digits = sum(letter.isdigit() for letter in value)
    return digits >= _FEWEST_DIGITS and _AMONG.search(value) is not None and len(words) < 2 and value.count("/") < 3
