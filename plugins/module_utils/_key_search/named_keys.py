# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that have no form of their own, by the variable that a program reads them from: MISTRAL_API_KEY=...

The value must look drawn at random. Kaggle's is known by the file that Kaggle hands out.
"""

import re
from typing import List, Tuple

_VALUE = re.compile(  # it begins with what is rare, so that a home is searched in time
    rb"(?:KEY|TOKEN)([\"'\])]*[ \t]*[=:, ][ \t]*[\"']?)([A-Za-z0-9_+/-]{20,128})(?![A-Za-z0-9_+/.(:$%{}\[<@-])"
)
_NAME = re.compile(
    rb"(?<![A-Za-z0-9_])(?:[A-Z][A-Z0-9_]{0,40}_(?:API_?KEY|API_TOKEN|ACCESS_TOKEN|AUTH_TOKEN)|KAGGLE_KEY)\Z"
)
_BEFORE = 60
_KAGGLE = re.compile(rb'"username"\s*:\s*"[^"\n]{1,60}"\s*,\s*"key"\s*:\s*"([0-9a-f]{32})"')
_PART = re.compile(r"[-_/+]")
_AMONG = re.compile(r"\d[A-Za-z]")  # a digit in the middle of a part
_FEWEST_DIGITS = 3


def find_named_keys(content: bytes) -> List[Tuple[int, str, str]]:
    """Return where each such key begins, itself, and what it is."""
    found = []
    for match in _VALUE.finditer(content) if b"KEY" in content or b"TOKEN" in content else ():
        name = _NAME.search(content[max(0, match.start() - _BEFORE) : match.start(1)])
        value = match.group(2).decode("ascii")
        if name and is_drawn(value):
            found.append((match.start(2), value, "the value of %s" % name.group().decode("ascii")))
    kaggles = _KAGGLE.finditer(content) if b'username"' in content else ()
    return found + [(one.start(1), one.group(1).decode("ascii"), "a Kaggle key") for one in kaggles]


def is_drawn(value: str) -> bool:
    """Return True if a value has letters and digits among each other, and does not consist of words."""
    parts = _PART.split(value)
    words = [part for part in parts if part.isalpha() and len(part) > 2]
    digits = sum(letter.isdigit() for letter in value)
    return digits >= _FEWEST_DIGITS and _AMONG.search(value) is not None and len(words) < 2 and value.count("/") < 3
