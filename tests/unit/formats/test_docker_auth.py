# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One login in a JSON file: every other byte stays, and what Docker could not read is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats import docker_auth
from ansible_collections.hpc.onboard.plugins.module_utils._formats.docker_auth import RegistryLogin
from hypothesis import given
from hypothesis import strategies as st

OURS = RegistryLogin("$oauthtoken", "nvapi-new")
name = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
value: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | name,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(name, inner, max_size=3),
    max_leaves=6,
)
logins = st.dictionaries(name, st.dictionaries(st.sampled_from(["auth", "email"]), name, max_size=2), max_size=3)


@st.composite
def files(draw: st.DrawFn) -> str:
    """A file as some program wrote it: any order, any indent."""
    document = draw(st.dictionaries(name.filter(lambda one: not one.startswith(("auths", "cred"))), value, max_size=3))
    if draw(st.booleans()):
        document["auths"] = draw(logins)
    pairs = draw(st.permutations(list(document.items())))
    indent = draw(st.sampled_from([None, 0, 2, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
    return json.dumps(dict(pairs), indent=indent, separators=separators) + draw(st.sampled_from(["", "\n", "\r\n"]))


@given(files(), st.sampled_from(["nvcr.io", "https://index.docker.io/v1/"]))
def test_only_the_one_entry_changes(text: str, registry: str) -> None:
    assert docker_auth.find_problem(text, registry) is None
    written = docker_auth.put(text, registry, OURS)
    assert docker_auth.find(written, registry) == OURS
    before, after = json.loads(text), json.loads(written)
    entry = after["auths"].pop(registry)
    before.get("auths", {}).pop(registry, None)
    assert entry == {"auth": base64.b64encode(b"$oauthtoken:nvapi-new").decode()}
    assert {**after, "auths": after["auths"]} == {**before, "auths": before.get("auths", {})}
    assert docker_auth.put(written, registry, OURS) == written


@given(files())
def test_what_is_put_in_is_taken_out_again(text: str) -> None:
    registry = "nvcr.io"
    if registry in json.loads(text).get("auths", {}):
        text = docker_auth.without(text, registry) or "{}"
    left = docker_auth.without(docker_auth.put(text, registry, OURS), registry)
    was = json.loads(text)
    now = json.loads(left or "{}")
    assert now.get("auths", {}) == was.get("auths", {})
    assert {key: now[key] for key in now if key != "auths"} == {key: was[key] for key in was if key != "auths"}


def test_every_byte_around_an_old_entry_stays() -> None:
    text = '{\n\t"auths": {\n\t\t"ghcr.io": {"auth": "bWU6eA=="},\n\t\t"nvcr.io" : {"auth":"b2xk"}\n\t},  "x":1}\r\n'
    auth = base64.b64encode(b"$oauthtoken:nvapi-new").decode()
    assert docker_auth.put(text, "nvcr.io", OURS) == text.replace('{"auth":"b2xk"}', f'{{"auth": "{auth}"}}')


def test_a_new_entry_is_set_as_the_others_are() -> None:
    written = docker_auth.put('{\n  "auths": {\n    "a": {}\n  }\n}\n', "b", OURS)
    assert written.startswith('{\n  "auths": {\n    "b": {"auth": "')
    assert written.endswith('"},\n    "a": {}\n  }\n}\n')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON"),
        ("[]", "does not contain logins"),
        ('{"auths": []}', "does not contain logins"),
        ('{"auths": {"nvcr.io": 1}}', "is not a login"),
        ('{"auths": {"nvcr.io": {}, "nvcr.io": {}}}', "contains the name nvcr.io twice"),
        ('{"credsStore": "desktop"}', "docker-credential-desktop"),
        ('{"credHelpers": {"nvcr.io": "x"}}', "docker-credential-x"),
        ('{"credHelpers": null, "credsStore": "x"}', "docker-credential-x"),
        ('{"a":' * 100_000, "not valid JSON"),
    ],
)
def test_a_file_that_would_not_be_read_is_refused(text: str, reason: str) -> None:
    assert reason in (docker_auth.find_problem(text, "nvcr.io") or "")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"auths": ["nvcr.io"]}', '{"auths": "nvcr.io"}', '{"auths": null}'])
def test_a_file_without_logins_has_none(text: str) -> None:
    assert (docker_auth.list_registries(text), docker_auth.find(text, "nvcr.io")) == ([], None)


@pytest.mark.parametrize("entry", [{}, {"auth": "*"}, {"auth": "bm9jb2xvbg=="}, {"auth": 1}])
def test_an_entry_that_cannot_be_read_is_an_empty_login(entry: dict[str, Any]) -> None:
    text = json.dumps({"auths": {"nvcr.io": entry}})
    assert docker_auth.find(text, "nvcr.io") == RegistryLogin("", "")
