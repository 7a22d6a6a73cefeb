# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each issuer's form where people leave it, and what has the form alone: no checksum, no secret, or made up."""

from __future__ import annotations

import base64
import json
import random
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._key_search import keys_in_texts
from ansible_collections.hpc.onboard.plugins.module_utils._key_search.keys_in_texts import KeyFinder, find_keys

from tests.effort import turns
from tests.integration.audit.plants.made_up import FORMS

ISSUED = {  # form -> what it is called
    "ngc": "an NGC personal or service key",
    "wandb1": "a wandb key",
    "huggingface": "a Hugging Face token",
    "github": "a GitHub token",
    "npm": "an npm token",
    "gitlab": "a GitLab token",
    "openai": "an OpenAI key",
    "anthropic": "an Anthropic key",
    "slack": "a Slack token",
    "pypi": "a PyPI token",
    "google": "a Google API key",
    "dockerhub": "a Docker Hub token",
    "databricks": "a Databricks token",
    "stripe": "a Stripe key",
    "replicate": "a Replicate token",
}
PLACES = [
    "{}",
    "K={}",
    'k: "{}"',
    "https://me:{}@x",
    "%3A{}%40",
    'print(\\"x\\n{}\\")',
    "-K = '{}'",
    "'{}\\n',",
    "{}\r\n",
    "a,{},b",
    "docker login -u me -p{} x",
]


def drawn(form: str) -> str:
    """A made-up key of the form."""
    return FORMS[form](random.Random(form))


def whats(text: str) -> list[tuple[int, str]]:
    """Line and description of each key that is found."""
    return [(key.line, key.what) for key in find_keys(text, lambda _word: "")]


@pytest.mark.parametrize("form", ISSUED)
def test_a_key_is_found_wherever_it_is_written(form: str) -> None:
    key = drawn(form)
    for place in PLACES:
        assert whats("x\n" + place.format(key)) == [(2, ISSUED[form])], place
    assert whats(f"{key}\n# {key}  hpc.onboard:allow") == [(1, ISSUED[form]), (2, ISSUED[form])]
    assert [one.is_allowed for one in find_keys(f"{key}\n{key} # hpc.onboard:allow", lambda _: "")] == [False, True]


@pytest.mark.parametrize("form", ISSUED)
def test_a_longer_or_shorter_word_and_one_that_was_made_up_is_no_key(form: str) -> None:
    key = drawn(form)
    assert whats(f"x{key}") == []
    assert whats(key[: len(key) // 2]) == []
    prefix = next(len(key) - len(rest) for rest in [key.lstrip("abcdefghijklmnopqrstuvwxyz_-")] if rest)
    assert whats(key[:prefix] + "x" * (len(key) - prefix)) == []
    assert whats(key[:prefix] + ("0123456789abcdefghij" * 20)[: len(key) - prefix]) == []


@pytest.mark.parametrize("form", ["github", "npm", "pypi"])
def test_a_wrong_checksum_is_no_key(form: str) -> None:
    key = drawn(form)
    at = 12 if form == "pypi" else 20
    assert whats(key[:at] + ("A" if key[at] != "A" else "B") + key[at + 1 :]) == []


@pytest.mark.parametrize("form", ["ngc", "github", "gitlab"])
def test_a_login_in_base64_is_judged_by_its_password(form: str) -> None:
    key = drawn(form)
    for login in (f"ada:{key}", f"a:{key}", f"user@example.org:{key}"):
        coded = base64.b64encode(login.encode()).decode()
        for place in ('"auth": "{}"', "Authorization: Basic {}", "x{}y"[1:3]):
            (found,) = find_keys(place.format(coded), lambda _word: "")
            assert (found.value, found.what) == (key, f"{ISSUED[form]} in a login")
    assert whats(base64.b64encode(b"ada:my-own-password-without-form").decode()) == []


def test_a_known_key_is_found_whatever_is_around_it() -> None:
    known = {"Correct-horse-battery-staple": "the key of 'x'", "c29tZSBrZXkgd2l0aCBwYWRkaQ==": "the key of 'y'"}
    for key, what in known.items():
        coded = base64.b64encode(f"ada:{key}".encode()).decode()
        for text in (key, f"K={key}", f'"{key}"', coded, f"x {coded} y"):
            assert [(one.value, one.what) for one in find_keys(text, lambda w: known.get(w, ""))][:1] == [(key, what)]


@pytest.mark.parametrize(
    ("claims", "found"),
    [
        ({"sub": "ada", "exp": 4102444800}, [(1, "a JSON web token")]),
        ({"sub": "ada", "scope": "all of it"}, [(1, "a JSON web token")]),
        ({"sub": "ada", "exp": 1500000000}, []),
        ({"sub": "1234567890", "name": "John Doe", "iat": 1516239022}, []),
        (["ada", "and more of that kind"], []),
    ],
)
def test_a_web_token_counts_until_it_expires(claims: object, found: list[tuple[int, str]]) -> None:
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256"}, claims)] + [random.Random(1).randbytes(32)]
    token = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    for place in ("export SLURM_JWT={}", '"token": "{}"', "Authorization: Bearer {}"):
        assert whats(place.format(token)) == found


def test_an_id_of_aws_counts_with_its_secret_alone() -> None:
    name, secret = drawn("awsid"), drawn("awssecret")
    text = f'{{\n "aws_access_key_id": "{name}",\n "aws_secret_access_key": "{secret}"\n}}'
    assert whats(text) == [(2, "an AWS secret key")]
    assert whats(f"[s3]\naccess_key_id = {name}\nsecret_access_key = {secret}\n") == [(2, "an AWS secret key")]
    assert whats(f"aws_access_key_id = {name}") == whats(f"x = {secret}") == []
    assert whats(f"id = {name}\ncommit = {'0123456789abcdef' * 2}01234567") == []
    assert whats("AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY") == []


@turns(3)
@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
@pytest.mark.parametrize("style", ["RFC4716", "PEM", "PKCS8"])
def test_a_private_key_counts_without_a_passphrase_alone(kind: str, style: str, tmp_path: Path) -> None:
    size = ["-b", "1024"] if kind == "rsa" else []  # a longer one takes seconds
    for phrase, found in (("", [(2, "a private key without a passphrase")]), ("long words here", [])):
        file = tmp_path / f"key{len(phrase)}"
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-m", style, "-N", phrase, "-f", str(file), *size], check=True)
        text = file.read_text()
        assert whats("x\n" + text) == whats("x\n" + json.dumps({"private_key": text})) == found
        assert whats("x\n" + text.replace("\n", "\r\n")) == whats("x\n+" + text.replace("\n", "\n+")) == found


def test_a_private_key_of_random_bytes_counts_and_a_placeholder_does_not() -> None:
    block = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n"
    assert whats(block.format("not a key") * 3) == []
    assert (
        whats(block.format(base64.b64encode(b"put your key between these two lines, then save the file").decode()))
        == []
    )
    content = base64.b64encode(random.Random(1).randbytes(300)).decode()
    assert whats(json.dumps({"private_key": block.format(content)})) == [(1, "a private key without a passphrase")]


def test_a_key_is_found_at_every_place_of_a_large_text_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is cut into pieces, and never within a word."""
    key = drawn("github").encode()
    finder = KeyFinder(lambda _word: "")
    with monkeypatch.context() as patch:
        patch.setattr(keys_in_texts, "_PIECE", 1000)
        for before in range(1000 - len(key) - 2, 1003):
            assert len(finder.find(b"." * before + key)) == 1
    for text in (
        b'{"a": "' + b"x1" * 2_000_000,
        b"commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567 wandb key=\n" * 60_000,
    ):
        start = time.process_time()
        assert len(finder.find(text + b'", "' + key)) == 1
        assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "content", [b"-----BEGIN " * 300_000, b"sk-" * 1_000_000, b"glpat-" + b"a-" * 1_000_000, b"A" * 4_000_000]
)
def test_no_text_takes_long(content: bytes) -> None:
    start = time.process_time()
    assert KeyFinder(lambda _word: "").find(content) == []
    assert time.process_time() - start < 5


def test_a_deeply_nested_token_is_none() -> None:
    payload = base64.urlsafe_b64encode(b'{"a":' + b"[" * 2000).decode()
    assert whats(f"eyJhbGciOiJIUzI1NiJ9.{payload}.c2lnbmF0dXJl") == []
