# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of keys of NGC, wandb and Hugging Face, and how to find such keys in a text.

Sources: nvapi- and 64 characters, and base64 of client:uuid (84 characters) for legacy keys: github.com/NVIDIA/nvcf
issue 886, github.com/NVIDIA/infra-controller (rest-api/auth) and public scanners for secrets; personal keys live side
by side and a new legacy key ends the old one: org.ngc.nvidia.com/setup/api-keys. wandb: 40 characters or more
(github.com/wandb/wandb), hexadecimal of old and now behind wandb_v1_. Hugging Face: hf_ and 34 letters and digits, as
public scanners for secrets have it; longer ones are let through.
"""

import base64
import binascii
import re
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

NGC, WANDB, HUGGING_FACE = "ngc", "wandb", "huggingface"
TITLES = {NGC: "NGC", WANDB: "wandb", HUGGING_FACE: "Hugging Face"}


class Form(NamedTuple):
    """The format of one kind of key, and how it is rotated."""

    name: str
    service: str
    beginning: str
    pattern: str  # of the whole key
    lengths: Tuple[int, int]  # shortest and longest
    rotates: bool  # old and new can both be valid for a while; else a new one ends the old one


NVAPI = Form("personal or service key", NGC, "nvapi-", r"nvapi-[A-Za-z0-9_-]{64}", (70, 70), True)
LEGACY = Form("legacy key", NGC, "", r"[A-Za-z0-9+/]{84}", (84, 84), False)
WANDB_NOW = Form("key", WANDB, "wandb_v1_", r"wandb_v1_[A-Za-z0-9_]{40,120}", (49, 129), True)
WANDB_OLD = Form("key of the first form", WANDB, "", r"(?:[a-z0-9]{1,20}-)?[0-9a-f]{40}", (40, 61), True)
HF = Form("token", HUGGING_FACE, "hf_", r"hf_[A-Za-z0-9]{34,64}", (37, 67), True)
FORMS = (NVAPI, LEGACY, WANDB_NOW, WANDB_OLD, HF)

_CLIENT = re.compile(rb"[A-Za-z0-9]{26}:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


class KeyInText(NamedTuple):
    """A key in a text: its line number from 1, the key itself, which is never shown, and a description."""

    line: int
    value: str
    what: str


def form_of(text: str) -> Optional[Form]:
    """Return the form that the whole text has, or None."""
    found = next((form for form in FORMS if re.fullmatch(form.pattern, text)), None)
    return None if found is LEGACY and not _names_a_client(text) else found


def title(form: Form) -> str:
    """Return a kind of key in words: 'NGC legacy key'."""
    return "%s %s" % (TITLES[form.service], form.name)


def _names_a_client(text: str) -> bool:
    """Return True if the text is base64 of client:uuid."""
    try:
        return _CLIENT.fullmatch(base64.b64decode(text, validate=True)) is not None
    except binascii.Error:
        return False


def is_placeholder(word: str) -> bool:
    """Return True if a word stands for a key: 'nvapi-xxxx', 'YOUR_KEY', or the text that a fix writes."""
    return bool(_MEANT.search(word) or _MEANT_WORD.match(word))


# -- in a text -------------------------------------------------------------------------------------

_AUTH = re.compile(r"JG9hdXRodG9rZW46[A-Za-z0-9+/]{4,400}={0,2}")  # base64 that begins with '$oauthtoken:'
_SOLID = "A-Za-z0-9_-"  # characters that must not be next to a key: it would be part of another word
_FORMED = [
    (form, re.compile("(?<![%s])(?:%s)(?![%s])" % (around, form.pattern, around)))
    for form, around in ((NVAPI, _SOLID), (LEGACY, "A-Za-z0-9+/"), (WANDB_NOW, _SOLID), (HF, _SOLID))
]
_HEXADECIMAL = re.compile(r"(?<![@/.%s])%s(?![%s])" % (_SOLID, WANDB_OLD.pattern, _SOLID))
_WORD = re.compile(r"[A-Za-z0-9_+/-]{20,200}={0,2}")
_BEFORE_WANDBS = re.compile(  # text before a key, unlike before a run id or a checksum
    r"(?:key|login|password|token|secret|://[^\s/@]*:)[\"']?(?:[ \t]*[:=][ \t]*|[ \t]+|(?<=:))(?:-\S+[ \t]+)*[\"']?$",
    re.IGNORECASE,
)
_MEANT = re.compile(r"[xX0*.]{8}|(?:^|[_<-])(?:your|my|insert|example|replace|redacted)[_>-]", re.IGNORECASE)
_MEANT_WORD = re.compile(
    r"(?:nvapi-|hf_)?(?:x+|\*+|\.+|<.*>|\{.*\}|\[.*\]|your\S*|changeme|(?:api[_-]?)?key|token|password|secret|none|null"
    r"|removed-by-hpc\.onboard)\Z",
    re.IGNORECASE,
)
_LONGEST = 2000  # characters of a line that are searched for known keys


def find_keys(text: str, known: Callable[[str], str]) -> List[KeyInText]:
    """Return the keys in a text, in order: those that have a key's form, and known ones.

    known: returns the description of a word that is or was a key, else "". A hexadecimal number, which could also be a
    commit, counts as a key of wandb only near that name.
    """
    found: List[KeyInText] = []
    of_wandb = False  # the current entry of a netrc file is for wandb
    describe = _memoised(known)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) >= 20:
            found += [
                KeyInText(number, value, describe(value) or what) for value, what in _in_line(line, of_wandb, describe)
            ]
        if "machine" in line or not line.strip():
            of_wandb = "api.wandb.ai" in line
    return found


def _in_line(line: str, of_wandb: bool, known: Callable[[str], str]) -> List[Tuple[str, str]]:
    """Return the keys of a line with their descriptions, each key once."""
    found = [(one.start(), one.group(), form) for form, pattern in _FORMED for one in pattern.finditer(line)]
    at = [(start, value, _describe(form)) for start, value, form in found if form is not LEGACY or form_of(value)]
    at += [(one.start(), _password(one.group()), "a login of the NVIDIA registry") for one in _AUTH.finditer(line)]
    if of_wandb or ("wandb" in line.lower() and not re.search(r"\bgit ", line)):
        at += [
            (one.start(), one.group(), _describe(WANDB_OLD))
            for one in _HEXADECIMAL.finditer(line)
            if _BEFORE_WANDBS.search(line[: one.start()])
        ]
    for one in _WORD.finditer(line[:_LONGEST]):
        at += [(one.start(), word, "") for word in (one.group(), _password(one.group())) if word and known(word)]
    values: Dict[str, str] = {}
    for _start, value, what in sorted(at):
        values.setdefault(value, what)
    return [(value, what) for value, what in values.items() if value and not is_placeholder(value)]


def _describe(form: Form) -> str:
    return ("an " if form.service == NGC else "a ") + title(form)


def _password(auth: str) -> str:
    """Return the password in base64 of user:password or of a password alone; "" if it is not base64."""
    try:
        text = base64.b64decode(auth.rstrip("=") + "=" * (-len(auth.rstrip("=")) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
    return (text.partition(":")[2] or text).strip()


def _memoised(known: Callable[[str], str]) -> Callable[[str], str]:
    """Return the function with a cache: histories repeat their words."""
    answers: Dict[str, str] = {}

    def cached(word: str) -> str:
        if word not in answers:
            answers[word] = known(word)
        return answers[word]

    return cached
