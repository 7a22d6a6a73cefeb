# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for keys in texts: known keys of any format, and keys in the format of a known issuer.

For speed (100 MB per second), a text is split into words once. Words that are too short, or were examined before, are
skipped at almost no cost, and only the text around a possible key is examined further.
"""

import base64
import binascii
import re
from typing import Callable, Dict, Iterator, List, NamedTuple, Set, Tuple

from .._formats.key_forms import LEGACY, WANDB_OLD, form_of
from .issuers import POSSIBLE, add_padding, describe, find_issued
from .named_keys import find_named_keys, is_random
from .placeholders import is_made_up, is_placeholder
from .private_keys import MARKS, PRIVATE_KEY, find_private_keys

SHORTEST, LONGEST = 20, 4000  # characters of a word that may contain a key
ALLOW = "hpc.onboard:allow"  # in a line whose keys the user accepts
MOST = 5000  # places of possible keys that are examined in one text
_PIECE = 256 * 1024  # bytes that are split into words at a time, to save memory
_NEAR = 400  # characters of a line before and after a word that are read
_BEFORE = 40  # characters before a word in which a key may begin
_MOST_REMEMBERED = 400000  # words
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/-"
_DIGITS = b"0123456789"
_SPACES = bytes(byte if byte in _LETTERS else 32 for byte in range(256))  # maps what separates words to a space
_LOGIN = re.compile(r"[A-Za-z0-9+/]{20,4000}")
_REGISTRY = "$oauthtoken:"  # the user of a login at nvcr.io
_AWS_ID = re.compile(r"(?<![A-Z0-9])A(?:KIA|SIA)[A-Z2-7]{16}(?![A-Z0-9])")
_AWS_SECRET = re.compile(
    r"(?<![A-Za-z0-9/+_-])(?=[A-Za-z/+]*\d)(?=[a-z0-9/+]*[A-Z])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])"
)
_HEX = re.compile(r"(?:[a-z0-9]{1,20}-)?[0-9a-f]{40}")
_POSSIBLE = re.compile("%s|%s" % (POSSIBLE, _AWS_ID.pattern))
_HEXADECIMAL = re.compile(r"(?<![@/.A-Za-z0-9_-])%s(?![A-Za-z0-9_-])" % WANDB_OLD.pattern)
_BEFORE_WANDBS = re.compile(  # text before a key of wandb; not before a run ID or a checksum
    r"(?:key|login|password|token|secret|://[^\s/@]*:)[\\\"'\])]*(?:[ \t]*(?:[:=,(]|=>)[ \t]*|[ \t]+|(?<=:))"
    r"(?:-\S+[ \t]+)*[\\\"'(]*$",
    re.IGNORECASE,
)

_API_KEY = re.compile(r"\bapi[_-]?key[\"']?[ \t]*[:=][ \t]*[\"']?$", re.IGNORECASE)


class KeyInText(NamedTuple):
    """A key in a text: its line (from 1), the key itself, which is never shown, and a description."""

    line: int
    value: str
    what: str
    is_allowed: bool = False  # the user has marked the line with ALLOW


class KeyFinder:
    """The search for keys in many texts. describe_known: returns the description of a known key, else ""."""

    def __init__(self, describe_known: Callable[[str], str]) -> None:
        self._describe_known = describe_known
        self._known: Dict[str, str] = {}  # known key -> description
        self._is_possible_key: Dict[bytes, bool] = {}  # word -> whether it may contain a key
        self._random: Set[bytes] = set()  # words that look random: keys, if the name of their variable says so
        self._is_of_wandb = self._has_random = False  # of the current text

    def find(self, content: bytes, path: str = "") -> List[KeyInText]:
        """Return the keys in a text in order, each once per line. path: its file, whose name may contain 'wandb'."""
        self._is_of_wandb = "wandb" in path
        self._has_random = False
        words = self._possible_keys(content)
        named = find_named_keys(content) if self._has_random else []
        if not (words or named or any(mark in content for mark in MARKS)):
            return []
        text = content.decode("latin-1")
        found: Dict[Tuple[int, str], str] = {}
        for start, value, what in sorted([*self._locate_keys(text, words), *named]):
            if self._is_known(value) or not (is_placeholder(value) or is_made_up(value)):
                found.setdefault((start, value), self._known.get(value) or what)
        return _add_lines(text, found)

    def _possible_keys(self, content: bytes) -> List[str]:
        """Return the words of a text that may contain keys, each once; hexadecimal numbers last, if 'wandb' occurs."""
        if len(self._is_possible_key) > _MOST_REMEMBERED:
            self._is_possible_key.clear()
            self._random.clear()
        found = sorted(word.decode("ascii") for word in _long_words(content) if self._is_possible(word))
        numbers = {word for word in found if _HEX.fullmatch(word) and word not in self._known}
        others = [word for word in found if word not in numbers]
        return others + (sorted(numbers) if numbers and (self._is_of_wandb or b"wandb" in content.lower()) else [])

    def _is_possible(self, word: bytes) -> bool:
        """Return True if a word may contain a key. Each word is examined once, also for whether it looks random."""
        if word not in self._is_possible_key:
            self._is_possible_key[word] = self._may_contain_key(word.decode("ascii"))
            has_digits = len(word.translate(None, _DIGITS)) < len(word)  # a random word does; saves time for the others
            if has_digits and is_random(word.decode("ascii")):
                self._random.add(word)
        self._has_random = self._has_random or word in self._random
        return self._is_possible_key[word]

    def _may_contain_key(self, word: str) -> bool:
        """Return True if a word is or contains a known key, matches a format of keys, or encodes one in base64."""
        inner = decode_login(word)
        forms = (word, add_padding(word), inner) if inner else (word,)
        known = [key for key in forms if self._is_known(key)]  # each form is examined, because _is_known() notes it
        if known or _POSSIBLE.search(word) or _HEX.fullmatch(word):
            return True
        return bool(inner) and (_is_login(word) or bool(self._find_encoded(word)))

    def _find_encoded(self, word: str) -> List[KeyInText]:
        """Return the keys in the text that a word encodes in base64, such as Docker's settings in Kubernetes."""
        text = _decode(word)
        return KeyFinder(self._describe_known).find(text.encode("ascii")) if '"' in text or "\n" in text else []

    def _is_known(self, word: str) -> bool:
        """Return True if a word is a known key, and remember its description."""
        if len(word) >= SHORTEST and word not in self._known:
            what = self._describe_known(word)
            if what:
                self._known[word] = what
        return word in self._known

    def _locate_keys(self, text: str, words: List[str]) -> Iterator[Tuple[int, str, str]]:
        """Yield the keys at all places of the words as (start, key, description)."""
        left = MOST
        for word in words:
            start, end = text.find(word), 0
            while start >= 0 and left:
                left, end = left - 1, start + len(word)
                yield from self._keys_of_word(text, start, end)
                start = text.find(word, end)
        for start, body in find_private_keys(text):
            yield start, body, PRIVATE_KEY

    def _keys_of_word(self, text: str, start: int, end: int) -> Iterator[Tuple[int, str, str]]:
        """Yield the keys in one word of a text as (start, key, description)."""
        word = text[start:end]
        for key in dict.fromkeys((word, add_padding(word))):
            if key in self._known and text.startswith(key, start):
                yield start, key, self._known[key]
        inner = decode_login(word)
        if inner and form_of(word) is LEGACY:
            yield start, word, describe(LEGACY)
        elif inner in self._known or _is_login(word):
            yield start, inner, _describe_login(word, inner)
        for encoded in self._find_encoded(word):
            yield start, encoded.value, encoded.what + " in base64"
        first = max(0, start - _BEFORE)
        for offset, value, what in find_issued(text[first : end + 1]):  # with the context that the patterns require
            if first + offset >= start:
                yield first + offset, value, what
        yield from _find_wandb_key(text, start, end, self._is_of_wandb)
        yield from _find_aws_key(text, start, end)


def find_keys(text: str, describe_known: Callable[[str], str]) -> List[KeyInText]:
    """Return the keys in a text, in order: known keys, and keys in the format of a known issuer.

    describe_known: returns the description of a known key, else "". A hexadecimal number, which could also be a commit,
    is reported as a key of wandb only near that name.
    """
    return KeyFinder(describe_known).find(text.encode("latin-1", "replace"))


def _long_words(content: bytes) -> Set[bytes]:
    """Return the words of a text that are as long as a key. The text is split in pieces, as it may be large."""
    spaced, start = content.translate(_SPACES), 0
    words: Set[bytes] = set()
    while start < len(spaced):
        end = spaced.find(b" ", start + _PIECE)
        end = len(spaced) if end < 0 else end
        words.update([word for word in spaced[start:end].split() if SHORTEST <= len(word) <= LONGEST])
        start = end
    return words


def decode_login(word: str) -> str:
    """Return the password in a base64-encoded 'user:password' or password; "" if the word is not base64."""
    text = _decode(word)
    return (text.partition(":")[2] or text).strip()


def _decode(word: str) -> str:
    """Return the ASCII text that a word encodes in base64; "" if the word is not base64."""
    try:
        return base64.b64decode(add_padding(word)).decode("ascii") if _LOGIN.fullmatch(word) else ""
    except (binascii.Error, ValueError):
        return ""


def _is_login(word: str) -> bool:
    """Return True if a word is a legacy NGC key, or a base64-encoded login with a key, as in Docker and HTTP."""
    inner = decode_login(word)
    return bool(inner) and (
        LEGACY in (form_of(word), form_of(inner)) or bool(find_issued(inner)) or _is_registry_login(word)
    )


def _is_registry_login(word: str) -> bool:
    """Return True if a word in base64 begins with the user name of NVIDIA's registry: 16 characters encode 12."""
    return base64.b64decode(word[:16]).decode("latin-1") == _REGISTRY


def _describe_login(word: str, inner: str) -> str:
    """Return the description of a login in base64. inner: its password."""
    issued = find_issued(inner)
    return (
        "a login of the NVIDIA registry"
        if _is_registry_login(word)
        else "%s in a login" % (issued[0][2] if issued else "a key")
    )


def _line_around(text: str, start: int, end: int) -> Tuple[str, str]:
    """Return the text of a word's line before and after the word, at most _NEAR characters each."""
    before = text[max(0, start - _NEAR) : start].rpartition("\n")[2]
    return before, text[end : end + _NEAR].partition("\n")[0]


def _find_wandb_key(text: str, start: int, end: int, is_of_wandb: bool) -> Iterator[Tuple[int, str, str]]:
    """Yield the old wandb key in a word, if the text around it names wandb. is_of_wandb: the file's name does."""
    before, after = _line_around(text, start, end)
    match = _HEXADECIMAL.search(text[max(0, start - 1) : end + 1])
    if match is None:
        return
    entry = re.split(r"\n[ \t\r]*\n|machine", text[max(0, start - _NEAR) : start])[-1]
    is_entry = "api.wandb.ai" in entry and "password" in entry
    is_named = "wandb" in (before + after).lower() and not re.search(r"\bgit ", before)
    is_of_wandb = is_of_wandb or "wandb" in text[max(0, start - _NEAR) : start].lower()
    is_setting = is_of_wandb and _API_KEY.search(before)  # in YAML, wandb is named on an earlier line
    if is_setting or ((is_entry or is_named) and _BEFORE_WANDBS.search(before)):
        yield start, match.group(), describe(WANDB_OLD)


def _find_aws_key(text: str, start: int, end: int) -> Iterator[Tuple[int, str, str]]:
    """Yield the AWS secret key near a word that contains a key ID, with the start of the ID, which is not secret."""
    if _AWS_ID.search(text[max(0, start - 1) : end + 1]):
        match = _AWS_SECRET.search(text[max(0, start - _NEAR) : end + _NEAR])
        if match:
            yield start, match.group(), "an AWS secret key"


def _add_lines(text: str, found: Dict[Tuple[int, str], str]) -> List[KeyInText]:
    """Return the keys with their line numbers, each key once per line. found: (start, key) -> description."""
    keys: Dict[Tuple[int, str], KeyInText] = {}
    line, counted = 1, 0
    for (start, value), what in found.items():
        line, counted = line + text.count("\n", counted, start), start
        before, after = _line_around(text, start, start)
        keys.setdefault((line, value), KeyInText(line, value, what, ALLOW in before + after))
    return list(keys.values())
