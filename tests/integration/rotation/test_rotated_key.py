# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that is replaced in a file, tried at a real registry from where it lies, or not replaced at all."""

from __future__ import annotations

import base64
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "unit"))

from account_scene import Folder, Plain, Scene

from tests.integration.keys.connect_proxy import ConnectProxy
from tests.testbed.registry import PRIVATE, Authority, Registry, new_key

pytestmark = pytest.mark.testbed

ENROOT, APPTAINER = "~/enroot/.credentials", "~/.apptainer/docker-config.json"
FOREIGN = b"# mine \xff\nmachine gitlab.example.org login me password foreign\r\n"


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    with Registry() as server:
        yield server


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "cluster")


def lines(key: str) -> bytes:
    """Both lines of enroot's file."""
    hosts = ("nvcr.io", "authn.nvidia.com")
    return "".join(f"machine {host} login $oauthtoken password {key}\n" for host in hosts).encode()


def with_key(path: str, key: str) -> dict[str, Any]:
    """A file with the key, as onboarding leaves it."""
    text = lines(key)
    if path == APPTAINER:
        auth = base64.b64encode(f"$oauthtoken:{key}".encode()).decode()
        text = json.dumps({"auths": {"nvcr.io": {"auth": auth}}}).encode()
    return {path.rpartition("/")[0]: Folder(0o700), path: Plain(text, 0o600)}


def rotated(registry: Registry, key: str, path: str = ENROOT) -> dict[str, Any]:
    """The entry of a plan that replaces the key at all places of one file."""
    host = registry.address
    places = [{"kind": "enroot_credential", "machine": name} for name in ("nvcr.io", "authn.nvidia.com")]
    if path == APPTAINER:
        places = [{"kind": "registry_auth", "registry": "nvcr.io"}]
    where = {"address": f"https://{host}", "repository": PRIVATE, "realms": [host], "ca": registry.ca_file.read_text()}
    return {"kind": "rotated_key", "path": path, "places": places, "password": key, "registry": where}


@pytest.mark.parametrize("path", [ENROOT, APPTAINER])
def test_a_key_that_the_registry_takes_is_put_in_everywhere(registry: Registry, scene: Scene, path: str) -> None:
    old, new = new_key(), new_key()
    for key in (old, new):
        registry.allow(key, [PRIVATE])
    scene.make(with_key(path, old))
    outcome = scene.run(rotated(registry, new, path))[0]
    assert outcome["status"] == "different", outcome["reason"]
    assert outcome["evidence"] == {"verdict": "valid"}
    again = scene.run(rotated(registry, new, path))[0]
    assert (again["status"], again["evidence"]) == ("ok", {"verdict": "valid"})
    everything = b"".join(file.read_bytes() for file in scene.root.rglob("*") if file.is_file())
    assert old.encode() not in everything
    assert base64.b64encode(f"$oauthtoken:{old}".encode()) not in everything


@pytest.mark.parametrize("how", ["unknown", "revoked", "not entitled"])
def test_a_key_that_the_registry_refuses_leaves_the_file_as_it_was(registry: Registry, scene: Scene, how: str) -> None:
    old, new = new_key(), new_key()
    if how != "unknown":
        registry.allow(new, [PRIVATE] if how == "revoked" else [])
    if how == "revoked":
        registry.revoke(new)
    scene.make({"~/enroot": Folder(0o755), ENROOT: Plain(FOREIGN + lines(old), 0o640)})
    before = scene.tree()
    outcome = scene.run(rotated(registry, new))[0]
    assert outcome["status"] == "failed"
    assert outcome["reason"].endswith("; the file is unchanged")
    assert scene.tree() == before
    assert new not in str(outcome)


def test_a_file_that_is_not_there_is_not_created(registry: Registry, scene: Scene) -> None:
    before = scene.tree()
    outcome = scene.run(rotated(registry, new_key()))[0]
    assert (outcome["status"], outcome["evidence"]) == ("ok", {"held": "none"})
    assert scene.tree() == before


def test_what_cannot_be_measured_is_no_refusal_and_is_said(scene: Scene) -> None:
    with Registry() as server:
        new = new_key()
        server.allow(new, [PRIVATE])
        entry = rotated(server, new)
    scene.make(with_key(ENROOT, new_key()))
    assert scene.run(entry)[0]["status"] == "different"
    outcome = scene.run(entry)[0]
    assert outcome["evidence"] == {"verdict": "unknown"}
    assert "(the registry cannot be reached" in outcome["remarks"][0]


def test_the_key_goes_to_no_host_that_the_plan_does_not_name(scene: Scene) -> None:
    with Registry() as lure, Registry(realm=None) as server:
        new = new_key()
        entry = rotated(server, new)
        entry["registry"]["realms"] = [lure.address]
        scene.make(with_key(ENROOT, new_key()))
        scene.run(entry)
        assert (
            "sent no token address, or the address of a host that may not receive the key"
            in scene.run(entry)[0]["remarks"][0]
        )
        assert not [one for one in [*server.requests, *lure.requests] if one.fingerprint]


class NaiveProxy(ConnectProxy):
    """The site's way out, which takes what stands before an @ for a login, as an address allows."""

    def connect(self, host: str, port: int) -> socket.socket:
        return super().connect(host.rpartition("@")[2], port)


def test_the_name_of_an_allowed_host_before_an_at_sign_leads_no_key_away(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lure has a certificate for the whole word, so that nothing but the reading of the realm protects the key."""
    authority, new = Authority("authority of a site"), new_key()
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with (
        Registry(("localhost", "nvcr.io@localhost"), authority=authority) as lure,
        Registry(
            ("localhost",), realm=f"https://nvcr.io@localhost:{lure.port}/proxy_auth", authority=authority
        ) as liar,
        NaiveProxy() as proxy,
    ):
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        lure.allow(new, [PRIVATE])
        entry = rotated(liar, new)
        entry["registry"]["realms"] = ["nvcr.io", "authn.nvidia.com"]
        scene.make(with_key(ENROOT, new_key()))
        scene.run(entry)
        assert liar.requests
        assert lure.requests == []
        assert (
            "sent no token address, or the address of a host that may not receive the key"
            in scene.run(entry)[0]["remarks"][0]
        )
