# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a registry may say about where its tokens come from, and where a key goes then: nowhere unexpected."""

from __future__ import annotations

import contextlib
from urllib.parse import parse_qs, urlsplit

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.auth_challenge import (
    Challenge,
    Refused,
    bearer,
    token_address,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.registry import Place
from hypothesis import given
from hypothesis import strategies as st

NVIDIAS = ("nvcr.io", "authn.nvidia.com")

READ = [
    (
        "NVIDIA's",
        ['Bearer realm="https://nvcr.io/proxy_auth",scope="repository:nvidia/cuda:pull,push"'],
        Challenge("https://nvcr.io/proxy_auth", "", "repository:nvidia/cuda:pull,push"),
    ),
    (
        "Docker's",
        ['Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull"'],
        Challenge("https://auth.docker.io/token", "registry.docker.io", "repository:a/b:pull"),
    ),
    ("other case", ['BEARER REALM="https://h/t", Service="s"'], Challenge("https://h/t", "s", "")),
    ("blanks", ['  Bearer   realm = "https://h/t" ,\tservice= "s"  '], Challenge("https://h/t", "s", "")),
    ("no quotes", ["Bearer service=s, realm=abc"], Challenge("abc", "s", "")),
    ("escapes", [r'Bearer realm="https://h/t",service="a\"b,c=\\"'], Challenge("https://h/t", 'a"b,c=\\', "")),
    ("after Basic", ['Basic realm="x", Bearer realm="https://h/t"'], Challenge("https://h/t", "", "")),
    ("before Basic", ['Bearer realm="https://h/t", Basic realm="x"'], Challenge("https://h/t", "", "")),
    ("in a second header", ["Negotiate", 'Bearer realm="https://h/t"'], Challenge("https://h/t", "", "")),
    ("beside a scheme alone", ['Negotiate, Bearer realm="https://h/t"'], Challenge("https://h/t", "", "")),
    ("commas too many", [',, Bearer realm="https://h/t",,service="s",'], Challenge("https://h/t", "s", "")),
    ("a comma within", ['Bearer realm="https://h/t?a=1,b=2"'], Challenge("https://h/t?a=1,b=2", "", "")),
    ("unknown parameters", ['Bearer error="invalid_token",realm="https://h/t"'], Challenge("https://h/t", "", "")),
]

UNREADABLE = [
    [],
    [""],
    ["Bearer"],
    ['Basic realm="https://nvcr.io/proxy_auth"'],
    ["Bearer realm="],
    ['Bearer realm=""'],
    ['Bearer realm="https://nvcr.io/proxy_auth'],
    ['Bearer realm="https://nvcr.io/a", realm="https://nvcr.io/b"'],
    ['Bearer realm="https://nvcr.io/a"', 'Bearer realm="https://evil.example/b"'],
    ['Bearer realm="https://nvcr.io/a" service="s"'],
    ["realm=https://nvcr.io/a"],
    ['"Bearer" realm="https://nvcr.io/a"'],
    ['Bearer realm="https://nvcr.io/a",service="' + "s" * 9000 + '"'],
]

HOSTILE = [
    "http://nvcr.io/proxy_auth",
    "HTTP://nvcr.io/proxy_auth",
    "//nvcr.io/proxy_auth",
    "nvcr.io/proxy_auth",
    "file:///etc/passwd",
    "ftp://nvcr.io/",
    "https://evil.example/token",
    "https://evil.example/nvcr.io",
    "https://nvcr.io.evil.example/token",
    "https://evilnvcr.io/token",
    "https://evil.nvcr.io/token",
    "https://nvidia.com/token",
    "https://nvcr.io@evil.example/token",
    "https://nvcr.io:443@evil.example/token",
    "https://evil.example#@nvcr.io/token",
    "https://evil.example\\@nvcr.io/token",
    "https://evil.example/\\nvcr.io",
    "https:/\\nvcr.io/token",
    "https:nvcr.io/token",
    "https:///nvcr.io/token",
    "https://nvcr.io:8443/token",
    "https://nvcr.io:0443000/token",
    "https://nvcr.io:/token",
    "https://nvcr.io /token",
    "https://nvcr.io\t.evil.example/token",
    "https://nvcr.io\r\nHost: evil.example/",
    "https://nvcr.io%2eevil.example/token",
    "https://nvcr.\u0131o/token",
    "https://\uff4evcr.io/token",
    "https://127.0.0.1/token",
    "https://[::1]/token",
    "https://2130706433/",
    "",
]


@pytest.mark.parametrize(("headers", "wanted"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_a_challenge_is_read_however_it_is_written(headers: list[str], wanted: Challenge) -> None:
    assert bearer(headers) == wanted


@pytest.mark.parametrize("headers", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_challenge_that_is_not_clear_is_refused(headers: list[str]) -> None:
    with pytest.raises(Refused):
        bearer(headers)


@pytest.mark.parametrize("realm", HOSTILE)
def test_a_key_does_not_go_where_it_is_lured(realm: str) -> None:
    with pytest.raises(Refused) as refusal:
        token_address(Challenge(realm, "", ""), NVIDIAS, "nvidia/cuda")
    assert "the key was not sent" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "realm",
    [
        "https://nvcr.io/proxy_auth",
        "https://NVCR.io/proxy_auth",
        "https://nvcr.io:443/proxy_auth",
        "https://nvcr.io./proxy_auth",
    ],
)
def test_the_allowed_host_is_written_anew(realm: str) -> None:
    found = token_address(Challenge(realm, "", ""), NVIDIAS, "nvidia/cuda")
    assert found == "https://nvcr.io/proxy_auth?scope=repository%3Anvidia%2Fcuda%3Apull"


def test_no_more_is_asked_for_than_to_pull_one_repository() -> None:
    greedy = Challenge(
        "https://nvcr.io/proxy_auth?scope=registry:catalog:*&service=evil&account=me",
        "s & t",
        "repository:other:delete",
    )
    asked = parse_qs(urlsplit(token_address(greedy, NVIDIAS, "nvidia/cuda")).query)
    assert asked == {"account": ["me"], "service": ["s & t"], "scope": ["repository:nvidia/cuda:pull"]}


def test_a_port_must_be_allowed_by_name() -> None:
    here = Challenge("https://localhost:5001/token", "", "")
    assert token_address(here, ["localhost:5001"], "a").startswith("https://localhost:5001/token?")
    for allowed in (["localhost"], ["localhost:5002"], []):
        with pytest.raises(Refused):
            token_address(here, allowed, "a")


def test_a_registry_may_send_to_its_own_realms_only() -> None:
    assert Place("nvcr.io", "a:1").allowed == NVIDIAS
    assert Place("registry.example:5000", "a:1").allowed == ("registry.example:5000",)
    assert Place("registry.example", "a:1", ("auth.example",)).allowed == ("auth.example",)


@pytest.mark.parametrize("image", ["", "a", "a:", ":1", "A:1", "a/:1", "/a:1", "a:1?x", "a/../b:1", "a b:1", "a:1\r\n"])
def test_what_is_no_image_is_refused(image: str) -> None:
    with pytest.raises(ValueError, match="no image"):
        Place("nvcr.io", image)


@pytest.mark.parametrize("host", ["", "https://nvcr.io", "nvcr.io/", "user@nvcr.io", "nvcr.io:x", "nvcr.io\n", "a b"])
def test_what_is_no_registry_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="no registry"):
        Place(host, "a:1")


@given(st.text(max_size=200))
def test_any_header_is_read_or_refused(header: str) -> None:
    with contextlib.suppress(Refused):
        assert bearer([header]).realm


@given(st.text(alphabet="htps:/@.\\#?[]%0nvcrioevl \t", max_size=40).map(lambda text: f"https://{text}"))
def test_a_key_leaves_for_an_allowed_host_or_not_at_all(realm: str) -> None:
    try:
        address = token_address(Challenge(realm, "", ""), NVIDIAS, "a")
    except Refused:
        return
    assert urlsplit(address).netloc in NVIDIAS


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=60))
def test_every_quoted_value_is_read_back(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert bearer([f'Bearer service="{quoted}",realm="r"']).service == value
