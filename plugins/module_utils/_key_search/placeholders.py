# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words that stand for a key: placeholders of documentation, and made-up keys of examples and tests."""

import re

_MEANT = re.compile(
    r"[xX0*.]{8}|(?:^|[_<-])(?:your|my|insert|example|replace|redacted)[_>-]|EXAMPLE|PLACEHOLDER|CHANGE_?ME",
    re.IGNORECASE,
)
_MEANT_WORD = re.compile(
    r"(?:nvapi-|hf_)?(?:x+|\*+|\.+|<.*>|\{.*\}|\[.*\]|your\S*|changeme|(?:api[_-]?)?key|token|password|secret|none|null"
    r"|removed-by-hpc\.onboard)\Z",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"(?:[A-Za-z][A-Za-z0-9]{0,9}[_-]){0,3}")
_LONGEST_PERIOD = 16
FEWEST = 9  # different characters in 24 or more that were drawn at random: 40 of hexadecimal have 15 on average


def is_placeholder(word: str) -> bool:
    """Return True if a word stands for a key: 'nvapi-xxxx', 'YOUR_KEY', or the text that a fix writes."""
    return bool(_MEANT.search(word) or _MEANT_WORD.match(word))


def is_made_up(key: str) -> bool:
    """Return True if a key was not drawn at random: few characters, a sequence (abcd, 4321), or a part repeated."""
    match = _PREFIX.match(key)
    body = key[match.end() if match and len(key) - match.end() >= 16 else 0 :]
    if len(body) >= 24 and len(set(body)) < FEWEST:
        return True
    steps = sum(abs(ord(one) - ord(other)) <= 1 for one, other in zip(body, body[1:]))
    if steps * 2 >= len(body) - 1:
        return True
    return any(body.startswith(body[period:]) for period in range(1, min(_LONGEST_PERIOD, len(body) // 2) + 1))
