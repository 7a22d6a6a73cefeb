# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a key, against a real registry and services that behave, refuse, fail, lag and lure."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._text.enroot import entry
from ansible_collections.hpc.onboard.plugins.plugin_utils._exchange import Transport
from ansible_collections.hpc.onboard.plugins.plugin_utils._judgement import Finding, Judgement
from ansible_collections.hpc.onboard.plugins.plugin_utils._key_forms import Malformed, recognised
from ansible_collections.hpc.onboard.plugins.plugin_utils._verdicts import Settings, judged

from tests.testbed.registry import (
    EMAIL,
    PRIVATE,
    PUBLIC,
    TAG,
    Authority,
    Registry,
    fingerprint,
    new_key,
    new_legacy_key,
)
from tests.testbed.web import Web

from . import curl_as_enroot
from .connect_proxy import ConnectProxy
from .runs import REPOSITORY
from .test_canary import forms

SECRET, OPEN = f"{PRIVATE}:{TAG}", f"{PUBLIC}:{TAG}"
QUICK = Transport(timeout=2, total=8, attempts=2, pause=0.05, proxies={})
ALL = ("issuer", "token", "manifest")

if os.environ.get("HPC_ONBOARD_NO_TESTBED") == "1" and not shutil.which("docker-registry"):
    pytest.skip("no docker-registry, as HPC_ONBOARD_NO_TESTBED=1 says", allow_module_level=True)


@pytest.fixture(scope="module")
def authority() -> Authority:
    """Who signs the certificates of all servers here."""
    return Authority("authority of these tests")


@pytest.fixture(scope="module")
def shared(authority: Authority) -> Iterator[Registry]:
    """A registry on one host and its realm on another one, as NVIDIA's can be."""
    with Registry(("localhost", "127.0.0.1"), realm="127.0.0.1", authority=authority) as registry:
        yield registry


@pytest.fixture
def registry(shared: Registry) -> Iterator[Registry]:
    """The registry, well and with nothing asked yet."""
    shared.requests.clear()
    yield shared
    shared.mode = "well"
    shared.fail_next(0)
    shared.doorkeeper.lenient, shared.doorkeeper.refuses, shared.doorkeeper.public = False, True, {PUBLIC}


def settings(here: Registry, /, **changes: object) -> Settings:
    """What reaches this registry and its issuers."""
    base = f"https://{here.address}"
    chosen = {
        "issuer": f"{base}/v3/keys/get-caller-info",
        "wandb": f"{base}/graphql",
        "huggingface": f"{base}/api/whoami-v2",
        "registry": here.address,
        "image": OPEN,
        "canary": SECRET,
        "realms": (f"127.0.0.1:{here.port}",),
        "transport": replace(QUICK, ca_file=str(here.ca_file)),
        **changes,
    }
    return Settings(**chosen)  # type: ignore[arg-type]


def verdict_of(key: str, chosen: Settings, service: str = "ngc") -> Judgement:
    """The judgement, in which no form of the key shows."""
    found = judged(recognised(key, service), chosen)
    shown = f"{found!r} {found.sentence}".encode()
    assert [name for name, form in forms(key).items() if form in shown] == []
    return found


def by_level(found: Judgement) -> dict[str, str]:
    """Level -> verdict."""
    return {finding.level: str(finding.verdict) for finding in found.findings if finding.level != "form"}


def level(found: Judgement, name: str) -> Finding:
    """The finding of that level."""
    return next(finding for finding in found.findings if finding.level == name)


def allowed_key(registry: Registry, *repositories: str, legacy: bool = False) -> str:
    """A new key that may pull these."""
    key = new_legacy_key() if legacy else new_key()
    registry.allow(key, repositories)
    return key


def credentials(folder: Path, key: str, *hosts: str) -> Path:
    """A file in enroot's form."""
    path = folder / ".credentials"
    path.write_text("".join(entry(host, "$oauthtoken", key) + "\n" for host in hosts), encoding="ascii")
    return path


def test_a_valid_key_is_valid_at_every_level(registry: Registry) -> None:
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry))
    assert by_level(found) == dict.fromkeys(ALL, "valid")
    assert (found.verdict, found.measured, found.dead) == ("valid", ("form", *ALL), False)


def test_of_the_issuers_answer_no_persons_data_is_kept(registry: Registry) -> None:
    found = verdict_of(allowed_key(registry), settings(registry, levels=("issuer",)))
    assert level(found, "issuer").details == {
        "type": "PERSONAL_KEY",
        "org": "uni-muster",
        "products": "artifact-catalog, private-registry",
        "expires": "2031-01-01T00:00:00Z",
    }
    assert EMAIL not in repr(found)
    assert "Simone" not in repr(found)


def test_a_legacy_key_is_measured_at_the_registry(registry: Registry) -> None:
    found = verdict_of(allowed_key(registry, PRIVATE, legacy=True), settings(registry))
    assert by_level(found) == {"issuer": "not_measured", "token": "valid", "manifest": "valid"}
    assert found.measured == ("form", "token", "manifest")


@pytest.mark.parametrize("revoked", [False, True], ids=["unknown", "revoked"])
def test_a_key_that_nobody_knows_is_dead(registry: Registry, revoked: bool) -> None:
    key = new_key()
    if revoked:
        registry.allow(key, [PRIVATE])
        assert verdict_of(key, settings(registry)).verdict == "valid"
        registry.revoke(key)
    found = verdict_of(key, settings(registry))
    assert by_level(found) == dict.fromkeys(ALL, "invalid")
    assert [finding.status for finding in found.findings] == [None, 401, 401, 401]
    assert (found.verdict, found.dead) == ("invalid", True)


@pytest.mark.parametrize(
    ("where", "verdict"), [("issuer", "invalid"), ("token", "not_entitled")], ids=["issuer", "registry"]
)
def test_a_key_that_one_service_still_takes_is_neither_valid_nor_dead(
    registry: Registry, where: str, verdict: str
) -> None:
    key = allowed_key(registry, PRIVATE)
    registry.revoke(key, only=where)
    found = verdict_of(key, settings(registry))
    assert (found.verdict, found.agreed, found.dead) == (verdict, False, False)
    assert "disagree" in found.sentence


@pytest.mark.parametrize(("refuses", "status"), [(True, 403), (False, 401)], ids=["403", "a token for nothing"])
def test_a_key_without_the_right_is_not_entitled(registry: Registry, refuses: bool, status: int) -> None:
    registry.doorkeeper.refuses = refuses
    found = verdict_of(allowed_key(registry), settings(registry))
    assert by_level(found) == {"issuer": "valid", "token": "valid", "manifest": "not_entitled"}
    assert (found.verdict, level(found, "manifest").status) == ("not_entitled", status)


def test_a_private_repository_refuses_the_token_already(registry: Registry) -> None:
    found = verdict_of(allowed_key(registry), settings(registry, image=SECRET, levels=("token",)))
    assert (found.verdict, level(found, "token").status) == ("not_entitled", 403)


def test_an_image_that_is_not_there_is_no_proof(registry: Registry) -> None:
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry, canary=f"{PRIVATE}:9.9"))
    assert (found.verdict, level(found, "manifest").status) == ("not_entitled", 404)
    assert "does not exist" in found.sentence


@pytest.mark.parametrize("canary", [OPEN, SECRET], ids=["public", "opened to all"])
def test_an_image_for_anybody_proves_nothing(registry: Registry, canary: str) -> None:
    registry.doorkeeper.public = {PUBLIC, PRIVATE}
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry, canary=canary, levels=("manifest",)))
    assert (found.verdict, found.measured) == ("not_measured", ("form",))
    assert "inconclusive" in found.sentence


def test_a_token_that_a_wrong_key_gets_too_proves_nothing(registry: Registry) -> None:
    registry.doorkeeper.lenient = True
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry, levels=("token", "manifest")))
    assert by_level(found) == {"issuer": "not_measured", "token": "not_measured", "manifest": "valid"}
    assert "inconclusive" in level(found, "token").sentence


@pytest.mark.parametrize(("refuses", "manifest"), [(True, "invalid"), (False, "not_entitled")])
def test_a_wrong_key_at_a_lenient_registry_is_not_called_valid(
    registry: Registry, refuses: bool, manifest: str
) -> None:
    registry.doorkeeper.lenient, registry.doorkeeper.refuses = True, refuses
    found = verdict_of(new_key(), settings(registry, levels=("token", "manifest")))
    assert by_level(found) == {"issuer": "not_measured", "token": "not_measured", "manifest": manifest}
    assert ("wrong altogether" in found.sentence) == (manifest == "not_entitled")


@pytest.mark.parametrize("off", ALL)
def test_a_level_that_is_switched_off_is_not_measured_and_asks_nothing(registry: Registry, off: str) -> None:
    on = tuple(name for name in ALL if name != off)
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry, levels=on))
    assert by_level(found) == {**dict.fromkeys(on, "valid"), off: "not_measured"}
    assert off not in found.measured
    assert f"not measured at {off}: switched off" in found.sentence
    paths = {"issuer": "/v3/keys/get-caller-info", "token": f"/v2/{PUBLIC}/", "manifest": f"/v2/{PRIVATE}/"}
    assert not [one for one in registry.requests if one.path.startswith(paths[off])]


def test_no_level_at_all_asks_nobody(registry: Registry) -> None:
    assert verdict_of(allowed_key(registry), settings(registry, levels=())).verdict == "not_measured"
    assert registry.requests == []


def test_without_a_canary_the_manifest_is_not_measured(registry: Registry) -> None:
    found = verdict_of(allowed_key(registry), settings(registry, canary=""))
    assert (found.verdict, found.measured) == ("valid", ("form", "issuer", "token"))
    assert "name an image that only you can pull" in found.sentence


MODES = ["slow", "drip", "broken", "busy", "garbage", "huge", "cut", "elsewhere"]
TROUBLE = [
    (part, mode) for part in ("issuer", "token", "registry") for mode in MODES if (part, mode) != ("registry", "drip")
]


SAID = {
    "slow": "no whole answer within 1 s",
    "drip": "no whole answer within 1 s",
    "broken": "busy or broken (HTTP 500)",
    "busy": "busy or broken (HTTP 429)",
    "garbage": "HTTP 200",
    "huge": "far more than it should",
    "cut": "broke off",
    "elsewhere": "does not follow",
}


@pytest.mark.parametrize(("part", "mode"), TROUBLE, ids=["-".join(row) for row in TROUBLE])
def test_a_service_in_trouble_is_unreachable_and_soon(registry: Registry, part: str, mode: str) -> None:
    key = allowed_key(registry, PRIVATE)
    registry.modes[part] = mode
    begun = time.monotonic()
    asked = "issuer" if part == "issuer" else "token"
    chosen = replace(settings(registry, levels=(asked,)), transport=replace(settings(registry).transport, timeout=1))
    found = verdict_of(key, chosen)
    assert time.monotonic() - begun < 3.5
    assert found.verdict == "unreachable", found.sentence
    assert f":{registry.port}" in found.sentence
    assert SAID["garbage" if (part, mode) == ("registry", "huge") else mode] in found.sentence
    assert not found.dead


def test_who_refuses_everybody_says_nothing_of_the_key(registry: Registry) -> None:
    registry.mode = "forbidden"
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry))
    assert by_level(found) == dict.fromkeys(ALL, "unreachable")


def test_a_token_that_is_refused_to_everybody_is_not_called_anothers_fault(registry: Registry) -> None:
    registry.modes["token"] = "forbidden"
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry))
    assert by_level(found) == {"issuer": "valid", "token": "not_entitled", "manifest": "not_entitled"}
    assert "wrong altogether" in found.sentence


def test_all_questions_together_have_one_bound(registry: Registry) -> None:
    key = allowed_key(registry, PRIVATE)
    registry.mode = "slow"
    begun = time.monotonic()
    found = verdict_of(key, settings(registry, transport=replace(settings(registry).transport, timeout=1, total=1.5)))
    assert time.monotonic() - begun < 2.5
    assert by_level(found) == dict.fromkeys(ALL, "unreachable")
    assert "no time was left" in found.sentence


@pytest.mark.parametrize("mode", ["slow", "drip"])
def test_a_question_that_is_given_up_leaves_no_thread(registry: Registry, mode: str) -> None:
    registry.modes["issuer"] = mode
    chosen = settings(registry, levels=("issuer",), transport=replace(settings(registry).transport, timeout=0.5))
    verdict_of(allowed_key(registry), chosen)
    end = time.monotonic() + 3
    while left := [one for one in threading.enumerate() if one.name.startswith("question")]:
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
        assert by_level(found) == {"issuer": "not_measured", "token": "not_measured", "manifest": "not_measured"}
        assert f"localhost:{lure.port}" in found.sentence
        assert "the key was not sent" in found.sentence
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
            assert "does not follow" in found.sentence
            assert lure.requests == []


@pytest.mark.parametrize("change", ["{}\r", " {}", "'{}'", "{}x", "nvapi-", "${}", "{}\u200b", "hf_" + "a" * 34])
def test_what_is_malformed_is_never_sent(registry: Registry, change: str) -> None:
    text = change.format(new_key())
    with pytest.raises(Malformed) as refusal:
        recognised(text, "ngc")
    assert text not in str(refusal.value)
    with pytest.raises(TypeError):
        judged(text, settings(registry))  # type: ignore[arg-type]
    assert registry.requests == []


TOKENS = [
    ("wandb", "0123456789abcdef" * 2 + "01234567"),
    ("wandb", "wandb_v1_" + "Ab0_" * 19),
    ("huggingface", "hf_" + "aB" * 17),
]


@pytest.mark.parametrize(("service", "text"), TOKENS, ids=["wandb of old", "wandb", "Hugging Face"])
def test_tokens_of_other_services_are_tried_at_their_issuer_alone(registry: Registry, service: str, text: str) -> None:
    registry.allow(text)
    found = verdict_of(text, settings(registry), service)
    assert by_level(found) == {"issuer": "valid"}
    assert level(found, "issuer").details == ({"type": "user", "role": "read"} if service == "huggingface" else {})
    assert EMAIL not in repr(found)
    registry.revoke(text)
    assert verdict_of(text, settings(registry), service).dead
    assert len(registry.requests) == 2


def test_a_viewer_who_is_nobody_makes_a_wandb_key_invalid(registry: Registry) -> None:
    registry.doorkeeper.lenient = True
    found = verdict_of(TOKENS[0][1], settings(registry), "wandb")
    assert (by_level(found), level(found, "issuer").status) == ({"issuer": "invalid"}, 200)


@pytest.mark.parametrize(("service", "text"), TOKENS, ids=["wandb of old", "wandb", "Hugging Face"])
def test_a_busy_issuer_with_a_rate_limit_is_asked_once(registry: Registry, service: str, text: str) -> None:
    registry.mode = "busy"
    assert verdict_of(text, settings(registry), service).verdict == "unreachable"
    assert len(registry.requests) == 1


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


JUDGED = ["valid", "legacy", "unknown", "revoked", "not entitled", "a token for nothing"]


@pytest.mark.parametrize("case", JUDGED)
def test_curl_with_enroots_file_comes_to_the_same_verdict(registry: Registry, tmp_path: Path, case: str) -> None:
    key = allowed_key(registry, *([] if "n" in case[:1] or "token" in case else [PRIVATE]), legacy=case == "legacy")
    registry.doorkeeper.refuses = case != "a token for nothing"
    if case in ("unknown", "revoked"):
        registry.revoke(key)
    tried = curl_as_enroot.pull(
        registry.address, SECRET, credentials(tmp_path, key, "localhost", "127.0.0.1"), registry.ca_file
    )
    found = verdict_of(key, settings(registry, levels=("manifest",)))
    assert tried.verdict == found.verdict
    expected = {"valid": "valid", "legacy": "valid", "unknown": "invalid", "revoked": "invalid"}
    assert tried.verdict == expected.get(case, "not_entitled")


def test_curl_without_a_key_opens_what_we_call_public(registry: Registry, tmp_path: Path) -> None:
    nothing = credentials(tmp_path, "")
    assert curl_as_enroot.pull(registry.address, OPEN, nothing, registry.ca_file).verdict == "valid"
    assert curl_as_enroot.pull(registry.address, SECRET, nothing, registry.ca_file) == (401, None)


UNUSED = {
    "leading blank": " machine 127.0.0.1 login $oauthtoken password {}\n",
    "several lines": "machine 127.0.0.1\nlogin $oauthtoken\npassword {}\n",
    "password first": "machine 127.0.0.1 password {} login $oauthtoken\n",
    "the registry's host alone": "machine localhost login $oauthtoken password {}\n",
}


@pytest.mark.parametrize("text", UNUSED.values(), ids=UNUSED)
def test_a_good_key_in_a_file_that_enroot_does_not_use_is_not_sent(
    registry: Registry, tmp_path: Path, text: str
) -> None:
    key = allowed_key(registry, PRIVATE)
    path = tmp_path / ".credentials"
    path.write_text(text.format(key), encoding="ascii")
    assert curl_as_enroot.pull(registry.address, SECRET, path, registry.ca_file) == (401, None)
    assert fingerprint(key) not in {one.fingerprint for one in registry.requests}


def test_a_key_on_its_way_is_in_no_argv_environment_or_log(
    registry: Registry, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    key = allowed_key(registry, PRIVATE)
    caplog.set_level(logging.DEBUG)
    registry.modes["token"] = "slow"
    path = credentials(tmp_path, key, "localhost", "127.0.0.1")
    ours = threading.Thread(target=verdict_of, args=(key, settings(registry)))
    curls = subprocess.Popen(
        [sys.executable, "-c", "import sys; from pathlib import Path; from tests.integration import curl_as_enroot;"
         "curl_as_enroot.pull(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))",
         registry.address, SECRET, str(path), str(registry.ca_file)], cwd=REPOSITORY, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    ours.start()
    seen = b""
    while ours.is_alive():
        seen += b"".join(
            _read(file) for name in ("cmdline", "environ") for file in Path("/proc").glob(f"[0-9]*/{name}")
        )
        time.sleep(0.1)
    curls.terminate()
    curls.wait(10)
    told = capfd.readouterr()
    seen += f"{caplog.text}{told.out}{told.err}{registry.log}{registry.requests}".encode()
    assert b"docker-registry" in seen
    assert b"--netrc-file" in seen
    assert fingerprint(key) in {one.fingerprint for one in registry.requests if one.part == "token"}
    assert [name for name, form in forms(key).items() if form in seen] == []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_the_registry_ends_with_its_test_whatever_happens() -> None:
    script = (
        "import time; from tests.testbed.registry import Registry\n"
        "with Registry() as one:\n    print(one._process.pid, one.folder, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as test:
        assert test.stdout is not None
        pid, folder = test.stdout.readline().split()
        assert b"docker-registry" in Path(f"/proc/{pid}/cmdline").read_bytes()
        test.send_signal(signal.SIGKILL)
        test.wait(10)
    end = time.monotonic() + 5
    while b"docker-registry" in _read(Path(f"/proc/{pid}/cmdline")):
        assert time.monotonic() < end
        time.sleep(0.05)
    shutil.rmtree(folder)
