# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a key where services fail, lie about their name or lure it away: never that it is valid, and soon."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.onboard.leaks import forms
from tests.testbed.registry import PRIVATE, TAG, Authority, Registry, fingerprint, new_key
from tests.testbed.web import Web

from .connect_proxy import ConnectProxy
from .registry_scene import ALL, QUICK, allowed_key, by_level, settings, verdict_of

MODES = ["slow", "drip", "broken", "busy", "garbage", "huge", "cut", "elsewhere"]
TROUBLE = [
    (part, mode) for part in ("issuer", "token", "registry") for mode in MODES if (part, mode) != ("registry", "drip")
]


SAID = {
    "slow": "timed out after 1 s",
    "drip": "timed out after 1 s",
    "broken": "temporarily unavailable (HTTP 500)",
    "busy": "temporarily unavailable (HTTP 429)",
    "garbage": "HTTP 200",
    "huge": "(limit: 256 KiB)",
    "cut": "closed the connection early",
    "elsewhere": "sent only to the given address",
}


@pytest.mark.parametrize(("part", "mode"), TROUBLE, ids=["-".join(row) for row in TROUBLE])
def test_a_service_in_trouble_is_unreachable_and_soon(registry: Registry, part: str, mode: str) -> None:
    key = allowed_key(registry, PRIVATE)
    registry.modes[part] = mode
    begun = time.monotonic()
    asked = "issuer" if part == "issuer" else "token"
    chosen = replace(settings(registry, levels=(asked,)), transport=replace(settings(registry).transport, timeout=1))
    found = verdict_of(key, chosen)
    assert time.monotonic() - begun < 6
    assert found.verdict == "unreachable", found.sentence
    assert f":{registry.port}" in found.sentence
    assert SAID["garbage" if (part, mode) == ("registry", "huge") else mode] in found.sentence
    assert not found.is_dead


def test_who_refuses_everybody_says_nothing_of_the_key(registry: Registry) -> None:
    registry.mode = "forbidden"
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry))
    assert by_level(found) == dict.fromkeys(ALL, "unreachable")


def test_a_token_that_is_refused_to_everybody_is_not_called_anothers_fault(registry: Registry) -> None:
    registry.modes["token"] = "forbidden"
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry))
    assert by_level(found) == {"issuer": "valid", "token": "not_entitled", "manifest": "not_entitled"}
    assert "may be wrong" in found.sentence


def test_all_questions_together_have_one_bound(registry: Registry) -> None:
    key = allowed_key(registry, PRIVATE)
    registry.mode = "slow"
    begun = time.monotonic()
    found = verdict_of(key, settings(registry, transport=replace(settings(registry).transport, timeout=1, total=1.5)))
    assert time.monotonic() - begun < 5
    assert by_level(found) == dict.fromkeys(ALL, "unreachable")
    assert "time limit of" in found.sentence


@pytest.mark.parametrize("mode", ["slow", "drip"])
def test_a_question_that_is_given_up_leaves_no_thread(registry: Registry, mode: str) -> None:
    registry.modes["issuer"] = mode
    chosen = settings(registry, levels=("issuer",), transport=replace(settings(registry).transport, timeout=0.5))
    verdict_of(allowed_key(registry), chosen)
    end = time.monotonic() + 3
    while left := [one for one in threading.enumerate() if one.name.startswith("request to")]:
        assert time.monotonic() < end, left
        time.sleep(0.05)


def test_what_is_busy_once_is_asked_again(registry: Registry) -> None:
    key = allowed_key(registry, PRIVATE)
    registry.fail_next(1)
    assert verdict_of(key, settings(registry)).verdict == "valid"
    assert [one.status for one in registry.requests[:2]] == [429, 200]


@pytest.mark.parametrize("ca_file", ["another", "the system's", "missing", "empty"])
def test_a_server_that_cannot_prove_its_name_sees_no_key(registry: Registry, tmp_path: Path, ca_file: str) -> None:
    Authority("somebody else").write(tmp_path / "another")
    (tmp_path / "empty").touch()
    trusted = None if ca_file == "the system's" else str(tmp_path / ca_file)
    found = verdict_of(allowed_key(registry), settings(registry, transport=replace(QUICK, ca_file=trusted)))
    assert by_level(found) == dict.fromkeys(ALL, "unreachable")
    assert "CA file" in found.sentence
    assert registry.requests == []


@pytest.mark.usefixtures("registry")
def test_a_certificate_for_another_name_is_refused(authority: Authority) -> None:
    with Registry(("localhost",), authority=authority) as other:
        address = f"https://127.0.0.1:{other.port}/v3/keys/get-caller-info"
        found = verdict_of(new_key(), settings(other, issuer=address, levels=("issuer",)))
        assert found.verdict == "unreachable"
        assert "certificate" in found.sentence
        assert other.requests == []


def test_a_server_without_tls_sees_no_key(registry: Registry) -> None:
    with Web(b"hello") as web:
        plain = settings(registry, issuer=f"https://127.0.0.1:{web.port}/", registry=f"127.0.0.1:{web.port}")
        found = verdict_of(new_key(), plain)
        assert by_level(found) == dict.fromkeys(ALL, "unreachable")
        assert "TLS" in found.sentence
        assert web.requests == []


def test_a_registry_that_is_down_or_unknown_is_unreachable(registry: Registry) -> None:
    for host in ("127.0.0.1:1", "registry.invalid"):
        found = verdict_of(new_key(), settings(registry, issuer=f"https://{host}/", registry=host))
        assert by_level(found) == dict.fromkeys(ALL, "unreachable")
        assert host in found.sentence


def test_a_key_does_not_follow_a_lure(registry: Registry, authority: Authority) -> None:
    """The lure has a certificate of the same authority and would get the key if it were allowed, as is shown last."""
    key = new_key()
    with (
        Registry(("localhost",), authority=authority) as lure,
        Registry(("localhost",), realm=f"https://localhost:{lure.port}/proxy_auth", authority=authority) as hostile,
    ):
        for one in (lure, hostile):
            one.allow(key, [PRIVATE])
        chosen = settings(hostile, realms=(), levels=("token", "manifest"))
        found = verdict_of(key, chosen)
        assert by_level(found) == {"issuer": "unknown", "token": "unknown", "manifest": "unknown"}
        assert f"localhost:{lure.port}" in found.sentence
        assert "The key was not sent" in found.sentence
        assert lure.requests == []
        assert {one.authorized for one in hostile.requests} == {False}
        verdict_of(key, replace(chosen, realms=(f"localhost:{lure.port}",)))
        assert fingerprint(key) in {one.fingerprint for one in lure.requests}


@pytest.mark.parametrize("part", ["issuer", "token", "registry"])
def test_a_key_does_not_follow_a_redirect(registry: Registry, authority: Authority, part: str) -> None:
    with Registry(("localhost",), authority=authority) as lure:
        registry.modes[part] = "elsewhere"
        for path in ("/v3/keys/get-caller-info", "/proxy_auth", f"/v2/{PRIVATE}/manifests/{TAG}"):
            registry.send_elsewhere(f"https://localhost:{lure.port}{path}")
            found = verdict_of(allowed_key(registry, PRIVATE), settings(registry))
            assert "sent only to the given address" in found.sentence
            assert lure.requests == []


def test_a_proxy_of_the_site_leads_there_and_sees_no_key(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    key = allowed_key(registry, PRIVATE)
    chosen = settings(registry, transport=replace(settings(registry).transport, proxies=None))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ConnectProxy() as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        assert verdict_of(key, chosen).verdict == "valid"
        assert len(proxy.requests) == len(registry.requests)
        assert not [form for form in forms(key).values() if form in b"".join(proxy.requests) + b"".join(proxy.passed)]
        proxy.status = 407
        refused = verdict_of(key, chosen)
    assert by_level(refused) == dict.fromkeys(ALL, "unreachable")
    assert "https_proxy" in refused.sentence
