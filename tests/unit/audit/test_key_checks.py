# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which looks for keys an account gets, and that they find nothing on one that was just set up."""

from __future__ import annotations

import glob
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from account_scene import HOME, KEY, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import read_profile, render
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.audit_checks import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.key_checks import (
    LABEL_TEXTS,
    KnownKey,
    describe_known_keys,
    fingerprint_current_keys,
    plan_key_checks,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect_resources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import site_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.backends import MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import account_fingerprint

from tests.effort import clusters

CHECKOUT = Path(__file__).parent.parent.parent.parent

PROFILES = {Path(name).stem: read_profile(Path(name)) for name in glob.glob(f"{CHECKOUT}/inventory/clusters/*.yml")}
PROGRAMS = [{"program": name} for name in ("wandb", "huggingface", "ngc")]
KEYS = {
    "ngc": "nvapi-" + hashlib.sha256(b"audit").hexdigest(),
    "wandb": "0123456789" * 4,
    "huggingface": "hf_" + "aB" * 17,
}
ABOUT_JOBS = {  # which have no ticket at Wilson, and no home at Cirrus
    "wilson": ["KEY-010 ~/.cache/huggingface/token", "KEY-010 ~/.netrc"],
    "cirrus": [
        "KEY-010 ~/.apptainer/docker-config.json",
        "KEY-010 ~/.cache/huggingface/token",
        "KEY-010 ~/.netrc",
    ],
}


def cluster(name: str) -> dict[str, Any]:
    """A profile with the names of an account filled in."""
    return render(PROFILES[name], {"user": "simone", "project": "p"}, {})


def checks_of(
    profile: dict[str, Any], entries: list[dict[str, Any]], known: dict[str, tuple[str, str]] | None = None
) -> list[dict[str, Any]]:
    """The looks at an account of that profile."""
    return plan_key_checks(profile, entries, known or {})


def declared(name: str) -> list[dict[str, Any]]:
    """What all roles declare that keep keys or variables."""
    settings = {**site_settings(cluster(name)), "tokens_programs": PROGRAMS}
    roles = [role for role in ROLES if role not in ("conda", "storage_links")]
    return collect_resources(roles, [], [], settings.get).resources


def options(entries: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The options of the entries of a kind."""
    return [entry["options"] for entry in entries if entry["kind"] == kind]


@pytest.mark.parametrize("name", clusters(sorted(PROFILES)))
def test_an_account_that_was_just_set_up_has_no_finding_but_what_the_site_forbids(name: str, scene: Scene) -> None:
    areas = [area["path"] for area in cluster(name)["storage"] if area.get("path")]
    named = {area["variable"].lstrip("$") for area in cluster(name)["storage"] if "variable" in area}
    scene.environment = {var: f"{HOME}/{var}" for var in sorted(named)}
    for folder in [*areas, *scene.environment.values()]:
        scene.at(folder).mkdir(parents=True, exist_ok=True)
    sandbox = {"root": str(scene.root), "home": HOME, "shell": scene.shell, "environment": scene.environment}
    common = {"fingerprint_key": KEY, "sandbox": sandbox}
    entries = Plan.of(declared(name), KEYS.__getitem__).entries
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS as RESOURCES

    set_up = answer({"resources": entries, "work": "reconcile", **common}, RESOURCES)
    assert set_up["error"] is None
    looks = checks_of(cluster(name), declared(name))
    before = scene.footprints()
    said = answer({"resources": looks, "work": "examine", **common}, KINDS)
    assert scene.footprints() == before
    assert said["error"] is None
    found = sorted(place for one in said["outcomes"] for place in one["before"])
    assert found == ABOUT_JOBS.get(name, []), [one["before"] for one in said["outcomes"]]
    assert [one["reason"] for one in said["outcomes"] if one["status"] not in ("ok", "extra")] == []


def test_options_are_complete_and_no_key_is_in_them() -> None:
    for entry in checks_of(cluster("lrz"), declared("lrz"), {"key 0123": KnownKey("ngc", "the key of 'ngc'")}):
        assert set(KINDS[entry["kind"]].with_defaults(entry["options"])) == set(KINDS[entry["kind"]].OPTIONS)
        assert entry["capability"] == "watch"
        KINDS[entry["kind"]](entry["options"])
    assert json.dumps(checks_of(cluster("lrz"), [])) == json.dumps(checks_of(cluster("lrz"), []))


def test_each_area_has_a_look_of_its_own_so_that_one_that_hangs_costs_no_other() -> None:
    found = options(checks_of(cluster("wilson"), declared("wilson")), "scattered_keys")
    assert [one["folder"] for one in found] == ["~", "/wclustre/p/simone", "/work1/p/simone"]


def test_what_enroot_reads_is_what_the_role_keeps_else_what_the_profile_says() -> None:
    (found,) = options(checks_of(cluster("lrz"), []), "unread_keys")
    assert found["enroots"] == ["~/enroot/.credentials"]
    mine = [{"kind": "enroot_credential", "options": {"machine": "nvcr.io", "path": "~/x/.credentials"}}]
    (found,) = options(checks_of(cluster("lrz"), mine), "unread_keys")
    assert found["enroots"] == ["~/x/.credentials"]
    (found,) = options(checks_of(cluster("dfki_pegasus"), []), "unread_keys")
    assert found["enroots"] == []


def test_the_login_shell_is_not_asked_where_no_key_is_kept() -> None:
    gone = [{"kind": "token_file", "options": {"state": "absent"}}]
    assert options(checks_of(cluster("lrz"), gone), "shadowed_keys") == []
    assert options(checks_of(cluster("lrz"), [{"kind": "token_file", "options": {}}]), "shadowed_keys")


def test_versions_are_known_by_fingerprint_and_label() -> None:
    version = versions.KeyVersion(versions.new_id(), "personal")
    secret = versions.add_pending(versions.adopt("ngc", "personal"), version)
    marks = {("ngc", "first"): "key " + "0" * 12, ("ngc", version.id): "key " + "1" * 12}
    assert describe_known_keys({"ngc": secret}, marks, {}) == {
        "key " + "0" * 12: ("ngc", "the key of 'ngc'", False),
        "key " + "1" * 12: ("ngc", "the new key of 'ngc', whose rotation is not complete", False),
    }
    secret = versions.promote(secret, version.id, ())
    assert describe_known_keys({"ngc": secret}, marks, {})["key " + "0" * 12] == (
        "ngc",
        "a replaced key of 'ngc'",
        True,
    )
    marks_of_keyring = {"ngc": "key " + "0" * 12}  # such as on a machine that did not rotate the key
    assert not describe_known_keys({"ngc": secret}, marks, marks_of_keyring)["key " + "0" * 12].is_replaced
    assert set(LABEL_TEXTS) == set(versions.LABELS)


def test_a_key_that_was_never_rotated_is_known_by_its_value_in_the_keyring() -> None:
    def value(name: str) -> str:
        if name == "locked":
            raise MissingKey("the keyring is locked")
        return "nvapi-x"

    marks = fingerprint_current_keys(["ngc", "locked"], "a@lrz", value)
    assert describe_known_keys({}, {}, marks) == {
        account_fingerprint("a@lrz", hashlib.sha256(b"nvapi-x").digest()): ("ngc", "the key of 'ngc'", False)
    }


def test_what_only_these_looks_need_is_sent_with_them_alone() -> None:
    theirs = {"_scan.search", "_scan.misplaced_keys", "_formats.key_files", "_key_search.keys_in_texts"}
    needs = payload.load_engine()["needs"]
    assert theirs <= set(payload.load_engine()["modules"])  # and so not in the engine itself
    assert not theirs & set(needs["_resources.shell_environment"])
    assert theirs <= set(needs["_key_checks.scattered_keys"])
