# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recognition of values that are not real keys: placeholders in documentation, made-up keys in tests."""

import re

_PLACEHOLDER = re.compile(
    # a word such as "my" also occurs in random keys, but hardly with another plain word after it
    r"[xX0*.]{8}|(?:^|[_<-])(?:your|my|insert|example|replace|redacted)[_>-](?=[a-z]{0,15}(?:[_>-]|\Z))"
    r"|EXAMPLE|PLACEHOLDER|CHANGE_?ME",
    re.IGNORECASE,
)
_PLACEHOLDER_WORD = re.compile(
    r"(?:nvapi-|hf_)?(?:x+|\*+|\.+|<.*>|\{.*\}|\[.*\]|your\S*|changeme|(?:api[_-]?)?key|token|password|secret|none|null"
    r"|removed-by-hpc\.onboard)\Z",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"(?:[A-Za-z][A-Za-z0-9]{0,9}[_-]){0,3}")
_LONGEST_PERIOD = 16
_SHORTEST_BODY = 16  # characters that must follow a prefix such as hf_
LONG = 24  # characters of a key that is long enough to count its different characters
FEWEST = 9  # different characters of a long random key: 40 hexadecimal digits have 15 on average


def is_placeholder(word: str) -> bool:
    """Return True if a word is a placeholder for a key: 'nvapi-xxxx', 'YOUR_KEY', or the text that a fix writes."""
    return bool(_PLACEHOLDER.search(word) or _PLACEHOLDER_WORD.match(word))


def is_made_up(key: str) -> bool:
    """Return True if a key is not random: few different characters, a sequence (abcd, 4321), or a repeated part."""
    match = _PREFIX.match(key)
    has_prefix = match is not None and len(key) - match.end() >= _SHORTEST_BODY
    body = key[match.end() :] if match and has_prefix else key
    if len(body) >= LONG and len(set(body)) < FEWEST:
        return True
    neighbours = sum(abs(ord(first) - ord(second)) <= 1 for first, second in zip(body, body[1:]))
    if neighbours * 2 >= len(body) - 1:  # at least half of the characters continue a sequence
        return True
    # A body repeats its first PERIOD characters if it equals itself after a shift by PERIOD.
    longest_period = min(_LONGEST_PERIOD, len(body) // 2)
    return any(body.startswith(body[period:]) for period in range(1, longest_period + 1))
