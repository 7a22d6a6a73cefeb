# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a key, against a real registry and issuers that answer: valid, refused, disagreeing, inconclusive."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.key_kinds import MalformedKey, check_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import judge_key

from tests.testbed.registry import EMAIL, PRIVATE, PUBLIC, Registry, new_key

from .registry_scene import ALL, OPEN, SECRET, allowed_key, by_level, level, measured, settings, verdict_of


def test_a_valid_key_is_valid_at_every_level(registry: Registry) -> None:
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry))
    assert by_level(found) == dict.fromkeys(ALL, "valid")
    assert (found.verdict, measured(found), found.is_dead) == ("valid", ALL, False)


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
    assert by_level(found) == {"issuer": "unknown", "token": "valid", "manifest": "valid"}
    assert measured(found) == ("token", "manifest")


@pytest.mark.parametrize("revoked", [False, True], ids=["unknown", "revoked"])
def test_a_key_that_nobody_knows_is_dead(registry: Registry, revoked: bool) -> None:
    key = new_key()
    if revoked:
        registry.allow(key, [PRIVATE])
        assert verdict_of(key, settings(registry)).verdict == "valid"
        registry.revoke(key)
    found = verdict_of(key, settings(registry))
    assert by_level(found) == dict.fromkeys(ALL, "invalid")
    assert [finding.status for finding in found.findings] == [401, 401, 401]
    assert (found.verdict, found.is_dead) == ("invalid", True)


@pytest.mark.parametrize(
    ("where", "verdict"), [("issuer", "invalid"), ("token", "not_entitled")], ids=["issuer", "registry"]
)
def test_a_key_that_one_service_still_takes_is_neither_valid_nor_dead(
    registry: Registry, where: str, verdict: str
) -> None:
    key = allowed_key(registry, PRIVATE)
    registry.revoke(key, only=where)
    found = verdict_of(key, settings(registry))
    assert (found.verdict, found.is_agreed, found.is_dead) == (verdict, False, False)
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
    assert "missing tag" in found.sentence


@pytest.mark.parametrize("canary", [OPEN, SECRET], ids=["public", "opened to all"])
def test_an_image_for_anybody_proves_nothing(registry: Registry, canary: str) -> None:
    registry.doorkeeper.public = {PUBLIC, PRIVATE}
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry, canary=canary, levels=("manifest",)))
    assert (found.verdict, measured(found)) == ("unknown", ())
    assert "inconclusive" in found.sentence


def test_a_token_that_a_wrong_key_gets_too_proves_nothing(registry: Registry) -> None:
    registry.doorkeeper.lenient = True
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry, levels=("token", "manifest")))
    assert by_level(found) == {"issuer": "unknown", "token": "unknown", "manifest": "valid"}
    assert "inconclusive" in level(found, "token").sentence


@pytest.mark.parametrize(("refuses", "manifest"), [(True, "invalid"), (False, "not_entitled")])
def test_a_wrong_key_at_a_lenient_registry_is_not_called_valid(
    registry: Registry, refuses: bool, manifest: str
) -> None:
    registry.doorkeeper.lenient, registry.doorkeeper.refuses = True, refuses
    found = verdict_of(new_key(), settings(registry, levels=("token", "manifest")))
    assert by_level(found) == {"issuer": "unknown", "token": "unknown", "manifest": manifest}
    assert ("may be wrong" in found.sentence) == (manifest == "not_entitled")


@pytest.mark.parametrize("off", ALL)
def test_a_level_that_is_switched_off_is_not_measured_and_asks_nothing(registry: Registry, off: str) -> None:
    on = tuple(name for name in ALL if name != off)
    found = verdict_of(allowed_key(registry, PRIVATE), settings(registry, levels=on))
    assert by_level(found) == {**dict.fromkeys(on, "valid"), off: "unknown"}
    assert off not in measured(found)
    assert f"unknown at {off}: this check is switched off" in found.sentence
    paths = {"issuer": "/v3/keys/get-caller-info", "token": f"/v2/{PUBLIC}/", "manifest": f"/v2/{PRIVATE}/"}
    assert not [one for one in registry.requests if one.path.startswith(paths[off])]


def test_no_level_at_all_asks_nobody(registry: Registry) -> None:
    assert verdict_of(allowed_key(registry), settings(registry, levels=())).verdict == "unknown"
    assert registry.requests == []


def test_without_a_canary_the_manifest_is_not_measured(registry: Registry) -> None:
    found = verdict_of(allowed_key(registry), settings(registry, canary=""))
    assert (found.verdict, measured(found)) == ("valid", ("issuer", "token"))
    assert "set an image that only you can pull" in found.sentence


@pytest.mark.parametrize("change", ["{}\r", " {}", "'{}'", "{}x", "nvapi-x", "${}", "{}\u200b", "hf_" + "a" * 34])
def test_what_is_malformed_is_never_sent(registry: Registry, change: str) -> None:
    text = change.format(new_key())
    with pytest.raises(MalformedKey) as refusal:
        check_key(text, "ngc")
    assert text not in str(refusal.value)
    with pytest.raises(TypeError):
        judge_key(text, settings(registry))  # type: ignore[arg-type]  # wrong on purpose
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
    assert verdict_of(text, settings(registry), service).is_dead
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
