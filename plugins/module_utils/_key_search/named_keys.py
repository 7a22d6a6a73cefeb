# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for keys without a format of their own, by variable name: MISTRAL_API_KEY=..., "apiKey": "..."

The value must look random. A Kaggle key is recognized by the structure of Kaggle's file.
"""

import re
from typing import List, Tuple

_VALUE = re.compile(  # the end of a name and its value; begins with rare text, so that the search is fast
    rb"(?:KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|[kK]ey|[tT]oken|[sS]ecret|_password)"
    rb"([\\\"'\])]*(?:[ \t]*(?::[ \t]*\w{1,15}[ \t]*=|[:?+]?=>?|<-|[:,>])"  # in code, a type may follow the name
    rb"|,?\s+[\\\"']*value[\\\"']*[ \t]*[:=])?"  # "name": "NAME", "value": "VALUE"
    rb"[ \t]*\\*[\"']?)"  # in a notebook, \" is a quotation mark of the program
    rb"([A-Za-z0-9_+/-]{20,600})(?![A-Za-z0-9_+/.(:$%{}\[@-]|<(?!/))"
)
_NAME = re.compile(
    rb"(?<![A-Za-z0-9_])(?:[A-Z][A-Z0-9_]{0,40}_(?:KEY|PASS(?:PHRASE)?)"
    rb"|(?:[A-Z][A-Z0-9_]{0,40})?(?:TOKEN|SECRET|PASSWORD|PASSWD)"
    rb"|(?:[A-Za-z0-9]{1,30}[_.-]){0,3}(?i:api[_.-]?key|api[_-]?token|access[_-]?token|auth[_-]?token|secret[_-]?key"
    rb"|client[_-]?secret|account[_-]?key|private[_-]?token|bearer[_-]?token)"
    rb"|(?:[A-Za-z0-9]{1,30}[_.-]){1,4}(?:secret|token|password))\Z"
)
_NOT_SECRET = re.compile(  # in names of values that are not secret
    rb"PUBLIC|CACHE|HOST_KEY|SORT|PRIMARY|FOREIGN|PARTITION|OBJECT|IDEMPOTENCY|SITE_KEY|KEY_TOKEN|NEXT_TOKEN|PAGE_TOKEN"
    rb"|CSRF|XSRF|CONTINUATION|SYNC_TOKEN|[pP]ublic|cache|next|page|csrf|xsrf|continuation|sync|[hH]ash|digest"
    rb"|fingerprint|encrypted"
)
_BEFORE = 60  # characters before the value that may contain the name
_KAGGLE = re.compile(rb'"username"\s*:\s*"[^"\n]{1,60}"\s*,\s*"key"\s*:\s*"([0-9a-f]{32})"')
_PART = re.compile(r"[-_/+]")
_MIXED = re.compile(r"\d[A-Za-z]")  # a digit before a letter
_LONE_LETTER = re.compile(r"(?<![a-z])[a-z](?![a-z])")  # rare in words, also in those of CamelCase
_FEWEST_DIGITS = 3
_LENGTH_OF_LONE_LETTER = 12  # characters of a random text for each lone letter


def find_named_keys(content: bytes) -> List[Tuple[int, str, str]]:
    """Return the named keys in a text as (start, key, description)."""
    keys = []
    for match in _VALUE.finditer(content):
        name = _NAME.search(content[max(0, match.start() - _BEFORE) : match.start(1)])
        if name and b"value" in match.group(1) and not name.group().isupper():
            continue  # in HTML, names in small letters belong to the fields of forms
        value = match.group(2).decode("ascii")
        if name and not _NOT_SECRET.search(name.group()) and is_random(value):
            keys.append((match.start(2), value, "the value of %s" % name.group().decode("ascii")))
    if b'username"' in content:  # most texts skip the slow pattern
        matches = _KAGGLE.finditer(content)
        keys += [(match.start(1), match.group(1).decode("ascii"), "a Kaggle key") for match in matches]
    return keys


def is_random(value: str) -> bool:
    """Return True if a value looks random: letters and digits are mixed, and the value is not a path or a few words.

    A value with fewer than three digits must contain many lone small letters, which words do not have.
    """
    words = [part for part in _PART.split(value) if part.isalpha() and len(part) > 2]
    has_digits = sum(letter.isdigit() for letter in value) >= _FEWEST_DIGITS
    has_lone_letters = len(_LONE_LETTER.findall(value)) * _LENGTH_OF_LONE_LETTER >= len(value)
    is_mixed = (has_digits or has_lone_letters) and _MIXED.search(value) is not None
    is_path = value.count("/") >= 3
    return is_mixed and len(words) < 2 and not is_path
