# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where keys are in a text: known ones, whatever their form, and those that have the form of an issuer.

A text is cut into words once. A word that is too short, or that was looked at before, costs next to nothing, so that a
home is searched at a hundred megabytes a second; only around a word that may be a key the text itself is read.
"""

import base64
import binascii
import re
from typing import Callable, Dict, Iterator, List, NamedTuple, Set, Tuple

from .._formats.key_forms import LEGACY, WANDB_OLD, form_of
from .issuers import POSSIBLE, describe, find_issued
from .named_keys import find_named_keys, is_drawn
from .placeholders import is_made_up, is_placeholder
from .private_keys import MARKS, PRIVATE_KEY, find_private_keys

SHORTEST, LONGEST = 20, 4000  # characters of a word in which a key is sought
ALLOW = "hpc.onboard:allow"
MOST = 5000  # words of one text
_PIECE = 256 * 1024  # bytes that are cut into words at a time
_NEAR = 400  # characters around a word
_BEFORE = 40
_REMEMBERED = 400000  # words
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/-"
_DIGITS = b"0123456789"
_SPACES = bytes(one if one in _LETTERS else 32 for one in range(256))
_LOGIN = re.compile(r"[A-Za-z0-9+/]{20,4000}")
_REGISTRY = "$oauthtoken:"
_AWS_ID = re.compile(r"(?<![A-Z0-9])A(?:KIA|SIA)[A-Z2-7]{16}(?![A-Z0-9])")
_AWS_SECRET = re.compile(
    r"(?<![A-Za-z0-9/+_-])(?=[A-Za-z/+]*\d)(?=[a-z0-9/+]*[A-Z])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])"
)
_HEX = re.compile(r"(?:[a-z0-9]{1,20}-)?[0-9a-f]{40}")
_POSSIBLE = re.compile("%s|%s" % (POSSIBLE, _AWS_ID.pattern))
_HEXADECIMAL = re.compile(r"(?<![@/.A-Za-z0-9_-])%s(?![A-Za-z0-9_-])" % WANDB_OLD.pattern)
_BEFORE_WANDBS = re.compile(  # text before a key, unlike before a run id or a checksum
    r"(?:key|login|password|token|secret|://[^\s/@]*:)[\\\"'\])]*(?:[ \t]*(?:[:=,(]|=>)[ \t]*|[ \t]+|(?<=:))"
    r"(?:-\S+[ \t]+)*[\\\"'(]*$",
    re.IGNORECASE,
)

_API_KEY = re.compile(r"\bapi[_-]?key[\"']?[ \t]*[:=][ \t]*[\"']?$", re.IGNORECASE)


class KeyInText(NamedTuple):
    """A key in a text: its line number from 1, the key itself, which is never shown, and a description."""

    line: int
    value: str
    what: str
    is_allowed: bool = False  # the user has marked the line


class KeyFinder:
    """The search for keys in many texts. known: returns the description of a word that is or was a key, else ""."""

    def __init__(self, known: Callable[[str], str]) -> None:
        self._ask = known
        self._known: Dict[str, str] = {}  # the words that are keys
        self._may_be: Dict[bytes, bool] = {}  # whether a word may be one
        self._drawn: Set[bytes] = set()  # words that may be keys by the name of their variable
        self._is_of_wandb = self._has_drawn = False

    def find(self, content: bytes, path: str = "") -> List[KeyInText]:
        """Return the keys in a text in order, each once a line. path: of its file, which may name the issuer."""
        self._is_of_wandb = "wandb" in path
        self._has_drawn = False
        words = self._words(content)
        named = find_named_keys(content) if self._has_drawn else []
        if not (words or named or any(mark in content for mark in MARKS)):
            return []
        text = content.decode("latin-1")
        found: Dict[Tuple[int, str], str] = {}
        for start, value, what in sorted([*self._in_text(text, words), *named]):
            if value in self._known or self._recall(value) or not (is_placeholder(value) or is_made_up(value)):
                found.setdefault((start, value), self._known.get(value) or what)
        return _with_lines(text, found)

    def _words(self, content: bytes) -> List[str]:
        """Return the words of a text that may be keys, each once; hexadecimal numbers last, where they may be."""
        if len(self._may_be) > _REMEMBERED:
            self._may_be.clear()
            self._drawn.clear()
        found = sorted(word.decode("ascii") for word in _long_words(content) if self._is_possible(word))
        numbers = {word for word in found if _HEX.fullmatch(word) and word not in self._known}
        strong = [word for word in found if word not in numbers]
        return strong + (sorted(numbers) if numbers and (self._is_of_wandb or b"wandb" in content.lower()) else [])

    def _is_possible(self, word: bytes) -> bool:
        """Return True if a word may be a key, or contain one, according to what is around it."""
        if word not in self._may_be:
            self._may_be[word] = self._look_at(word.decode("ascii"))
            if len(word.translate(None, _DIGITS)) < len(word) - 2 and is_drawn(word.decode("ascii")):
                self._drawn.add(word)
        self._has_drawn = self._has_drawn or word in self._drawn
        return self._may_be[word]

    def _look_at(self, word: str) -> bool:
        inner = decode_login(word)
        if not inner:
            return self._recall(word) or bool(_POSSIBLE.search(word) or _HEX.fullmatch(word))
        is_known = [self._recall(one) for one in {word, _padded(word), inner}]
        if any(is_known) or _POSSIBLE.search(word) or _HEX.fullmatch(word) or _is_login(word):
            return True
        return bool(self._wrapped_in(word))

    def _wrapped_in(self, word: str) -> List[KeyInText]:
        """Return the keys in a text of which the word is base64: of Docker's settings in a secret of Kubernetes."""
        text = _decode(word)
        return KeyFinder(self._ask).find(text.encode("ascii")) if '"' in text or "\n" in text else []

    def _recall(self, word: str) -> bool:
        what = self._ask(word) if len(word) >= SHORTEST else ""
        if what:
            self._known[word] = what
        return bool(what)

    def _in_text(self, text: str, words: List[str]) -> Iterator[Tuple[int, str, str]]:
        """Yield where each key begins, its value, and what it is."""
        left = MOST
        for word in words:
            start, end = text.find(word), 0
            while start >= 0 and left:
                left, end = left - 1, start + len(word)
                yield from self._at(text, start, end)
                start = text.find(word, end)
        for start, body in find_private_keys(text):
            yield start, body, PRIVATE_KEY

    def _at(self, text: str, start: int, end: int) -> Iterator[Tuple[int, str, str]]:
        """Yield the keys in one word of a text."""
        word = text[start:end]
        for one in {word, _padded(word)}:
            if one in self._known and text.startswith(one, start):
                yield start, one, self._known[one]
        inner = decode_login(word)
        if inner and form_of(word) is LEGACY:
            yield start, word, describe(LEGACY)
        elif inner in self._known or _is_login(word):
            yield start, inner, _describe_login(word, inner)
        for key in self._wrapped_in(word):
            yield start, key.value, key.what + " in base64"
        first = max(0, start - _BEFORE)
        for at, value, what in find_issued(text[first : end + 1]):
            if first + at >= start:
                yield first + at, value, what
        yield from _of_wandb(text, start, end, self._is_of_wandb)
        yield from _of_aws(text, start, end)


def find_keys(text: str, known: Callable[[str], str]) -> List[KeyInText]:
    """Return the keys in a text, in order: those that have a key's form, and known ones.

    known: returns the description of a word that is or was a key, else "". A hexadecimal number, which could also be a
    commit, counts as a key of wandb only near that name.
    """
    return KeyFinder(known).find(text.encode("latin-1", "replace"))


def _long_words(content: bytes) -> Set[bytes]:
    """Return the words of a text that are as long as a key, piece by piece: a list of all words may be large."""
    apart, start = content.translate(_SPACES), 0
    words: Set[bytes] = set()
    while start < len(apart):
        end = apart.find(b" ", start + _PIECE)
        end = len(apart) if end < 0 else end
        words.update([word for word in apart[start:end].split() if SHORTEST <= len(word) <= LONGEST])
        start = end
    return words


def decode_login(word: str) -> str:
    """Return the password in base64 of user:password or of a password alone; "" if it is not base64."""
    text = _decode(word)
    return (text.partition(":")[2] or text).strip()


def _decode(word: str) -> str:
    """Return the text of which a word is base64; "" if it is not."""
    try:
        return base64.b64decode(_padded(word)).decode("ascii") if _LOGIN.fullmatch(word) else ""
    except (binascii.Error, ValueError):
        return ""


def _padded(word: str) -> str:
    return word + "=" * (-len(word) % 4)


def _is_login(word: str) -> bool:
    """Return True if a word is NGC's older form, or base64 of a login with a key: as Docker and HTTP have it."""
    inner = decode_login(word)
    return bool(inner) and (
        LEGACY in (form_of(word), form_of(inner)) or bool(find_issued(inner)) or _is_of_registry(word)
    )


def _is_of_registry(word: str) -> bool:
    return base64.b64decode(word[:16]).decode("latin-1") == _REGISTRY


def _describe_login(word: str, inner: str) -> str:
    issued = find_issued(inner)
    return (
        "a login of the NVIDIA registry"
        if _is_of_registry(word)
        else "%s in a login" % (issued[0][2] if issued else "a key")
    )


def _line_around(text: str, start: int, end: int) -> Tuple[str, str]:
    """Return the line before and after a word, or what is near of it."""
    before = text[max(0, start - _NEAR) : start].rpartition("\n")[2]
    return before, text[end : end + _NEAR].partition("\n")[0]


def _of_wandb(text: str, start: int, end: int, is_of_wandb: bool) -> Iterator[Tuple[int, str, str]]:
    before, after = _line_around(text, start, end)
    match = _HEXADECIMAL.search(text[max(0, start - 1) : end + 1])
    if match is None:
        return
    entry = re.split(r"\n[ \t\r]*\n|machine", text[max(0, start - _NEAR) : start])[-1]
    is_entry = "api.wandb.ai" in entry and "password" in entry
    is_named = "wandb" in (before + after).lower() and not re.search(r"\bgit ", before)
    is_of_wandb = is_of_wandb or "wandb" in text[max(0, start - _NEAR) : start].lower()
    is_below = is_of_wandb and _API_KEY.search(before)  # as in YAML
    if is_below or ((is_entry or is_named) and _BEFORE_WANDBS.search(before)):
        yield start, match.group(), describe(WANDB_OLD)


def _of_aws(text: str, start: int, end: int) -> Iterator[Tuple[int, str, str]]:
    """Yield the secret key that is near an id of a key; the id alone is no secret. It is where the id is."""
    if _AWS_ID.search(text[max(0, start - 1) : end + 1]):
        match = _AWS_SECRET.search(text[max(0, start - _NEAR) : end + _NEAR])
        if match:
            yield start, match.group(), "an AWS secret key"


def _with_lines(text: str, found: Dict[Tuple[int, str], str]) -> List[KeyInText]:
    """Return the keys with the numbers of their lines, each once a line."""
    keys: Dict[Tuple[int, str], KeyInText] = {}
    line, counted = 1, 0
    for (start, value), what in found.items():
        line, counted = line + text.count("\n", counted, start), start
        before, after = _line_around(text, start, start)
        keys.setdefault((line, value), KeyInText(line, value, what, ALLOW in before + after))
    return list(keys.values())
