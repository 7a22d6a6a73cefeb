# SPDX-License-Identifier: GPL-3.0-or-later
"""Made-up keys of the forms that issuers use, checksums included, so that no file of this repository contains one."""

from __future__ import annotations

import base64
import random
import re
import string
import uuid
import zlib
from collections.abc import Callable

from tests.integration.runs import KEY

_LETTERS = string.ascii_letters
_WORD = string.digits + _LETTERS
_URL = _WORD + "-_"
_HEX = "0123456789abcdef"
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase

Form = Callable[[random.Random], str]


def _some(of: str, length: int) -> Form:
    """Return a form of so many of these characters."""
    return lambda rng: "".join(rng.choice(of) for _ in range(length))


def _after(prefix: str, of: str, length: int, suffix: str = "") -> Form:
    """Return a form with a prefix."""
    return lambda rng: prefix + _some(of, length)(rng) + suffix


def _checked(prefix: str) -> Form:
    """Return a form whose last six characters are the CRC-32 of the thirty before them, in base 62."""

    def make(rng: random.Random) -> str:
        body = _some(_WORD, 30)(rng)
        number, digits = zlib.crc32(body.encode()), ""
        for _ in range(6):
            number, digit = divmod(number, 62)
            digits = _BASE62[digit] + digits
        return prefix + body + digits

    return make


def _pypi(rng: random.Random) -> str:
    """Return a macaroon of pypi.org."""
    name = str(uuid.UUID(int=rng.getrandbits(128))).encode()
    head = b"\x02\x01\x08pypi.org\x02\x24" + name + b"\x00\x02\x19" + b'{"permissions":"user","v' + b"}"
    return "pypi-" + base64.urlsafe_b64encode(head + b"\x00\x00\x06\x20" + rng.randbytes(32)).decode().rstrip("=")


def _old_ngc(rng: random.Random) -> str:
    """Return a key of NVIDIA's older type: base64 of an id and a UUID."""
    pair = _some(string.ascii_lowercase + string.digits, 26)(rng) + ":" + str(uuid.UUID(int=rng.getrandbits(128)))
    return base64.b64encode(pair.encode()).decode()


def _openai(rng: random.Random) -> str:
    return "sk-proj-" + _some(_URL, 74)(rng) + "T3BlbkFJ" + _some(_URL, 74)(rng)


def _slack(rng: random.Random) -> str:
    return "-".join(("xoxb", _some(string.digits, 12)(rng), _some(string.digits, 13)(rng), _some(_WORD, 24)(rng)))


def _slack_hook(rng: random.Random) -> str:
    capital = string.ascii_uppercase + string.digits
    parts = (_some(capital, 8)(rng), _some(capital, 10)(rng), _some(_WORD, 24)(rng))
    return "https://hooks.slack.com/services/T{}/B{}/{}".format(*parts)


def _telegram(rng: random.Random) -> str:
    return _some("123456789", 10)(rng) + ":AA" + _some(_URL, 33)(rng)


FORMS: dict[str, Form] = {
    "ngc": _after("nvapi-", _URL, 64),
    "ngclegacy": _old_ngc,
    "ourngc": lambda _rng: KEY,
    "wandb": _some(_HEX, 40),
    "wandb1": _after("wandb_v1_", _WORD, 77),
    "huggingface": _after("hf_", _LETTERS, 34),
    "github": _checked("ghp_"),
    "npm": _checked("npm_"),
    "gitlab": _after("glpat-", _URL, 20),
    "awsid": _after("AKIA", string.ascii_uppercase + "234567", 16),
    "awssecret": _some(_WORD + "/+", 40),
    "openai": _openai,
    "anthropic": _after("sk-ant-api03-", _URL, 93, "AA"),
    "slack": _slack,
    "slackhook": _slack_hook,
    "pypi": _pypi,
    "google": _after("AIza", _URL, 35),
    "dockerhub": _after("dckr_pat_", _URL, 27),
    "databricks": _after("dapi", _HEX, 32),
    "telegram": _telegram,
    "stripe": _after("sk_live_", _WORD, 24),
    "replicate": _after("r8_", _WORD, 37),
    "anaconda": lambda rng: "ad-" + str(uuid.UUID(int=rng.getrandbits(128))),
    "hex32": _some(_HEX, 32),
    "hex40": _some(_HEX, 40),
    "hex48": _some(_HEX, 48),
    "hex64": _some(_HEX, 64),
    "b64": _some(_WORD, 43),
    "b64long": _some(_WORD + "+/", 400),
    "last4": _some(_HEX, 4),
}
_PLACE = re.compile("%(" + "|".join(sorted([*FORMS, "user", "project", "home"], key=len, reverse=True)) + ")%")


def filled(text: str, name: str, known: dict[str, str]) -> str:
    """Return the text with each %placeholder% replaced; the same value for the same name and placeholder.

    known: user, project and home. A form that comes twice in one text gives one value.
    """

    def value(match: re.Match[str]) -> str:
        word = match[1]
        return known[word] if word in known else FORMS[word](random.Random(f"{name} {word}"))

    return _PLACE.sub(value, text)
