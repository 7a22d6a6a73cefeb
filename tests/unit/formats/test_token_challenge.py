# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a registry may say about where its tokens come from, and where a key goes then: nowhere unexpected."""

from __future__ import annotations

import contextlib
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats.token_challenge import (
    Challenge,
    ChallengeRefused,
    allowed_hosts,
    needs_basic_login,
    read_challenge,
    token_address,
)
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
    assert read_challenge(headers) == wanted


@pytest.mark.parametrize("headers", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_challenge_that_is_not_clear_is_refused(headers: list[str]) -> None:
    with pytest.raises(ChallengeRefused):
        read_challenge(headers)


@pytest.mark.parametrize("realm", HOSTILE)
def test_a_key_does_not_go_where_it_is_lured(realm: str) -> None:
    with pytest.raises(ChallengeRefused) as refusal:
        token_address(Challenge(realm, "", ""), NVIDIAS, "nvidia/cuda")
    assert "The key was not sent" in str(refusal.value)
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
        with pytest.raises(ChallengeRefused):
            token_address(here, allowed, "a")


def test_a_registry_may_send_to_its_own_realms_only() -> None:
    assert allowed_hosts("nvcr.io") == NVIDIAS
    assert allowed_hosts("registry.example:5000") == ("registry.example:5000",)
    assert allowed_hosts("registry.example", ["auth.example"]) == ("auth.example",)


@given(st.text(max_size=200))
def test_any_header_is_read_or_refused(header: str) -> None:
    with contextlib.suppress(ChallengeRefused):
        assert read_challenge([header]).realm


REALMS = st.text(alphabet="htps:/@.\\#?[]%0nvcrioevl \t\xa0", max_size=40).map(lambda text: f"https://{text}")
LURES = st.builds(
    "https://{}{}{}/token".format,
    st.sampled_from(NVIDIAS),
    st.text(alphabet="@:#?\\/.%&443 \t\x85\xa0\u2028\u3000[]", max_size=4),
    st.sampled_from(["evil.example", "evil.example:443", ""]),
)
PARTS = st.lists(
    st.one_of(
        st.builds('{}="{}"'.format, st.sampled_from(["realm", "Realm", "service", "scope"]), REALMS | LURES),
        st.sampled_from(["Bearer ", "Basic ", "bearer", ", ", ",", '"', "\\", " ", "\t", "="]),
    ),
    max_size=8,
).map("".join)
HEADERS = st.lists(PARTS | (REALMS | LURES).map('Bearer realm="{}"'.format), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("headers", "basic"),
    [
        (['Basic realm="a private one"'], True),
        (["basic"], True),
        (['Basic realm="x", Bearer realm="https://nvcr.io/t"'], False),
        (['Basic realm="x"', 'Bearer realm="https://nvcr.io/t"'], False),
        (["Negotiate"], False),
        ([], False),
    ],
)
def test_a_registry_without_tokens_is_told_by_its_challenge(headers: list[str], basic: bool) -> None:
    assert needs_basic_login(headers) is basic


@given(HEADERS)
def test_no_header_leads_a_key_outside_the_allowed_hosts(headers: list[str]) -> None:
    """As two readers of addresses see it: a strict one, and the one that account and controller ask with."""
    try:
        address = token_address(read_challenge(headers), NVIDIAS, "a")
    except ChallengeRefused:
        return
    assert urlsplit(address).netloc in NVIDIAS
    assert Request(address).host in NVIDIAS
    assert address.isascii()
    assert address.isprintable()


@pytest.mark.parametrize("ending", ["", "/", "?", "/token", "?a=b", ":443", ".", ".:443/t"])
def test_the_headers_of_the_fuzz_are_not_all_refused(ending: str) -> None:
    address = token_address(read_challenge([f'Bearer realm="https://nvcr.io{ending}"']), NVIDIAS, "a")
    assert Request(address).host == "nvcr.io"


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=60))
def test_every_quoted_value_is_read_back(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert read_challenge([f'Bearer service="{quoted}",realm="r"']).service == value
