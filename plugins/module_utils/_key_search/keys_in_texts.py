# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for keys in texts: known keys of any format, and keys in the format of a known issuer.

Known keys are those whose fingerprints the caller has. An issuer is a service that creates keys, such as GitHub.
For speed (100 MB per second), a text is split into words once. Words that are too short, or were examined before, are
skipped at almost no cost, and only the text around a possible key is examined further.
"""

import base64
import binascii
import re
from typing import Callable, Dict, Iterator, List, NamedTuple, Set, Tuple

from .._formats.key_forms import LEGACY, WANDB_OLD, find_form
from .issuers import POSSIBLE, add_padding, find_issued, name_with_article
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
_SPACES = bytes(byte if byte in _LETTERS else 32 for byte in range(256))  # maps each separator of words to a space
_BASE64 = re.compile(r"[A-Za-z0-9+/]{20,4000}")
_REGISTRY_USER = "$oauthtoken:"  # the user name of a login at nvcr.io
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
    """A key in a text."""

    line: int  # from 1
    value: str  # the key itself, which must never be shown
    what: str  # the description of the key
    is_allowed: bool = False  # the user has marked the line with ALLOW


class KeyFinder:
    """The search for keys in many texts.

    describe_known: a function that returns the description of a known key, and "" for any other word.
    """

    def __init__(self, describe_known: Callable[[str], str]) -> None:
        self._describe_known = describe_known
        self._known: Dict[str, str] = {}  # known key -> description
        self._is_possible_key: Dict[bytes, bool] = {}  # word -> True if the word may contain a key
        self._random: Set[bytes] = set()  # words that look random, and are keys if the variable's name says so
        self._is_of_wandb = False  # the path of the current text contains 'wandb'
        self._has_random = False  # the current text contains a word that looks random

    def find(self, content: bytes, path: str = "") -> List[KeyInText]:
        """Return the keys in a text in order, each once per line. path: the file, whose name may contain 'wandb'."""
        self._is_of_wandb = "wandb" in path
        self._has_random = False
        words = self._find_possible_keys(content)  # sets _has_random
        named_keys = find_named_keys(content) if self._has_random else []
        if not (words or named_keys or any(mark in content for mark in MARKS)):
            return []
        text = content.decode("latin-1")
        descriptions: Dict[Tuple[int, str], str] = {}  # (start, key) -> description
        for start, value, what in sorted([*self._locate_keys(text, words), *named_keys]):
            if self._is_known(value) or not (is_placeholder(value) or is_made_up(value)):
                descriptions.setdefault((start, value), self._known.get(value) or what)
        return _add_lines(text, descriptions)

    def _find_possible_keys(self, content: bytes) -> List[str]:
        """Return the words of a text that may contain keys, each once.

        Hexadecimal numbers come last, since there may be many. They may be keys (of wandb) only if the text or its path
        names wandb.
        """
        if len(self._is_possible_key) > _MOST_REMEMBERED:
            self._is_possible_key.clear()
            self._random.clear()
        words = sorted(word.decode("ascii") for word in _long_words(content) if self._is_possible(word))
        numbers = {word for word in words if _HEX.fullmatch(word) and word not in self._known}
        others = [word for word in words if word not in numbers]
        if numbers and (self._is_of_wandb or b"wandb" in content.lower()):
            return others + sorted(numbers)
        return others

    def _is_possible(self, word: bytes) -> bool:
        """Return True if a word may contain a key, and note whether the word looks random. Results are cached."""
        if word not in self._is_possible_key:
            self._is_possible_key[word] = self._may_contain_key(word.decode("ascii"))
            has_digits = len(word.translate(None, _DIGITS)) < len(word)  # a fast test that rejects most words
            if has_digits and is_random(word.decode("ascii")):
                self._random.add(word)
        self._has_random = self._has_random or word in self._random
        return self._is_possible_key[word]

    def _may_contain_key(self, word: str) -> bool:
        """Return True if a word is or contains a known key, matches a format of keys, or encodes one in base64."""
        password = decode_login(word)
        variants = (word, add_padding(word), password) if password else (word,)  # a password: the word is base64
        # A list rather than any(), because _is_known() remembers each key.
        known = [key for key in variants if self._is_known(key)]
        if known or _POSSIBLE.search(word) or _HEX.fullmatch(word):
            return True
        return bool(password) and (_is_login(word) or bool(self._find_encoded(word)))

    def _find_encoded(self, word: str) -> List[KeyInText]:
        """Return the keys in the text that a word encodes in base64, such as Docker's settings in Kubernetes."""
        text = _decode(word)
        is_structured = '"' in text or "\n" in text  # other texts are logins, see decode_login
        return KeyFinder(self._describe_known).find(text.encode("ascii")) if is_structured else []

    def _is_known(self, word: str) -> bool:
        """Return True if a word is a known key, and remember its description."""
        if len(word) >= SHORTEST and word not in self._known:
            what = self._describe_known(word)
            if what:
                self._known[word] = what
        return word in self._known

    def _locate_keys(self, text: str, words: List[str]) -> Iterator[Tuple[int, str, str]]:
        """Yield the keys at all places of the words, and all private keys, as (start, key, description)."""
        places_left = MOST
        for word in words:
            start = text.find(word)
            while start >= 0 and places_left:
                places_left -= 1
                end = start + len(word)
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
        password = decode_login(word)  # "" if the word is not base64
        if password and find_form(word) is LEGACY:  # the whole word is the key
            yield start, word, name_with_article(LEGACY)
        elif password in self._known or _is_login(word):  # the word encodes a login
            yield start, password, _describe_login(word, password)
        for encoded in self._find_encoded(word):
            yield start, encoded.value, encoded.what + " in base64"
        first = max(0, start - _BEFORE)
        for offset, value, what in find_issued(text[first : end + 1]):  # with the context that the patterns require
            if first + offset >= start:  # else it is a key of the word before
                yield first + offset, value, what
        yield from _find_wandb_key(text, start, end, self._is_of_wandb)
        yield from _find_aws_key(text, start, end)


def find_keys(text: str, describe_known: Callable[[str], str]) -> List[KeyInText]:
    """Return the keys in a text, in order: known keys, and keys in the format of a known issuer.

    describe_known: a function that returns the description of a known key, and "" for any other word. A hexadecimal
    number, which could also be a commit, is reported as a wandb key only near the name 'wandb'.
    """
    return KeyFinder(describe_known).find(text.encode("latin-1", "replace"))


def _long_words(content: bytes) -> Set[bytes]:
    """Return the words of a text that are as long as a key. The text is split piece by piece to save memory."""
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
        return base64.b64decode(add_padding(word)).decode("ascii") if _BASE64.fullmatch(word) else ""
    except (binascii.Error, ValueError):
        return ""


def _is_login(word: str) -> bool:
    """Return True if a word is a legacy NGC key, or a base64-encoded login with a key, as in Docker and HTTP."""
    password = decode_login(word)
    if not password:
        return False
    is_legacy = LEGACY in (find_form(word), find_form(password))
    return is_legacy or bool(find_issued(password)) or _is_registry_login(word)


def _is_registry_login(word: str) -> bool:
    """Return True if a word in base64 begins with the user name of NVIDIA's registry."""
    return base64.b64decode(word[:16]).decode("latin-1") == _REGISTRY_USER  # 16 characters encode 12


def _describe_login(word: str, password: str) -> str:
    """Return the description of a login in base64. word: the encoded login. password: the password in the login."""
    if _is_registry_login(word):
        return "a login for the NVIDIA registry"
    issued = find_issued(password)
    return "%s in a login" % (issued[0][2] if issued else "a key")


def _split_line_around(text: str, start: int, end: int) -> Tuple[str, str]:
    """Return the parts of a word's line (before the word, after the word), at most _NEAR characters each."""
    before = text[max(0, start - _NEAR) : start].rpartition("\n")[2]
    return before, text[end : end + _NEAR].partition("\n")[0]


def _find_wandb_key(text: str, start: int, end: int, path_names_wandb: bool) -> Iterator[Tuple[int, str, str]]:
    """Yield the old wandb key in a word as (start, key, description), if the path or the text near it names wandb."""
    match = _HEXADECIMAL.search(text[max(0, start - 1) : end + 1])  # with the characters next to the word
    if match is None:
        return
    before, after = _split_line_around(text, start, end)
    near = text[max(0, start - _NEAR) : start]
    netrc_entry = re.split(r"\n[ \t\r]*\n|machine", near)[-1]  # from the last "machine" or empty line to the word
    is_in_netrc = "api.wandb.ai" in netrc_entry and "password" in netrc_entry
    is_commit = re.search(r"\bgit ", before) is not None  # in a command of Git
    line_names_wandb = "wandb" in (before + after).lower() and not is_commit
    # In YAML, an earlier line names wandb.
    is_setting = (path_names_wandb or "wandb" in near.lower()) and _API_KEY.search(before)
    if is_setting or ((is_in_netrc or line_names_wandb) and _BEFORE_WANDBS.search(before)):
        yield start, match.group(), name_with_article(WANDB_OLD)


def _find_aws_key(text: str, start: int, end: int) -> Iterator[Tuple[int, str, str]]:
    """Yield the AWS secret key near a word that contains a key ID, as (start of the ID, key, description)."""
    if _AWS_ID.search(text[max(0, start - 1) : end + 1]):  # with the characters next to the word
        match = _AWS_SECRET.search(text[max(0, start - _NEAR) : end + _NEAR])
        if match:
            yield start, match.group(), "an AWS secret key"


def _add_lines(text: str, descriptions: Dict[Tuple[int, str], str]) -> List[KeyInText]:
    """Return the keys with their line numbers, each key once per line.

    descriptions: (start, key) -> description, in the order of the starts.
    """
    keys: Dict[Tuple[int, str], KeyInText] = {}
    line, previous_start = 1, 0
    for (start, value), what in descriptions.items():
        line += text.count("\n", previous_start, start)
        previous_start = start
        before, after = _split_line_around(text, start, start)
        keys.setdefault((line, value), KeyInText(line, value, what, ALLOW in before + after))
    return list(keys.values())
