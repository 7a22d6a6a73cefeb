# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that have no form of their own, by their names: MISTRAL_API_KEY=..., "apiKey": "...", secret_key = ...

The value must look drawn at random. Kaggle's is known by the file that Kaggle hands out.
"""

import re
from typing import List, Tuple

_VALUE = re.compile(  # it begins with what is rare, so that a home is searched in time
    rb"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|[kK]ey|[tT]oken|[sS]ecret)([\"'\])]*[ \t]*(?:[=:,]|=>)?[ \t]*[\"']?)"
    rb"([A-Za-z0-9_+/-]{20,600})(?![A-Za-z0-9_+/.(:$%{}\[<@-])"
)
_NAME = re.compile(
    rb"(?<![A-Za-z0-9_])(?:[A-Z][A-Z0-9_]{0,40}_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)"
    rb"|(?:[A-Za-z0-9]{1,30}[_.-]){0,3}(?:api[_-]?key|api[_-]?token|access[_-]?token|auth[_-]?token|secret[_-]?key"
    rb"|client[_-]?secret|account[_-]?key|apiKey|apiToken|accessToken|authToken|secretKey|clientSecret|AccountKey))\Z"
)
_OTHERS = re.compile(  # names of what is no secret
    rb"PUBLIC|CACHE|HOST_KEY|SORT|PRIMARY|FOREIGN|PARTITION|OBJECT|IDEMPOTENCY|SITE_KEY|KEY_TOKEN|NEXT_TOKEN|PAGE_TOKEN"
    rb"|CSRF|CONTINUATION|SYNC_TOKEN|public|cache|next|page"
)
_BEFORE = 60
_KAGGLE = re.compile(rb'"username"\s*:\s*"[^"\n]{1,60}"\s*,\s*"key"\s*:\s*"([0-9a-f]{32})"')
_PART = re.compile(r"[-_/+]")
_AMONG = re.compile(r"\d[A-Za-z]")  # a digit in the middle of a part
_FEWEST_DIGITS = 3


def find_named_keys(content: bytes) -> List[Tuple[int, str, str]]:
    """Return where each such key begins, itself, and what it is."""
    found = []
    for match in _VALUE.finditer(content):
        name = _NAME.search(content[max(0, match.start() - _BEFORE) : match.start(1)])
        value = match.group(2).decode("ascii")
        if name and not _OTHERS.search(name.group()) and is_drawn(value):
            found.append((match.start(2), value, "the value of %s" % name.group().decode("ascii")))
    kaggles = _KAGGLE.finditer(content) if b'username"' in content else ()
    return found + [(one.start(1), one.group(1).decode("ascii"), "a Kaggle key") for one in kaggles]


def is_drawn(value: str) -> bool:
    """Return True if a value has letters and digits among each other, and does not consist of words."""
    parts = _PART.split(value)
    words = [part for part in parts if part.isalpha() and len(part) > 2]
    digits = sum(letter.isdigit() for letter in value)
    return digits >= _FEWEST_DIGITS and _AMONG.search(value) is not None and len(words) < 2 and value.count("/") < 3
