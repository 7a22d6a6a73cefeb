# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of capabilities: what it says of each is true, and enough to find the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.module_utils._formats.key_forms import TITLES
from ansible_collections.hpc.onboard.plugins.module_utils._resources.rotated_key import PLACES as ROTATED
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS as RESOURCES
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles import container_caches
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect_resources, role_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import CACHING
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import (
    KINDS,
    ROLES,
    Role,
    find_options_class,
    key_files,
    load_role,
)

CHECKOUT = Path(__file__).parents[3]
HERE = "ansible_collections.hpc.onboard.plugins.plugin_utils._roles"


def defaults(name: str) -> dict[str, Any]:
    """The settings of a role where nobody says anything, without its name before them."""
    return {key.removeprefix(f"{name}_"): value for key, value in role_settings(name).defaults.items()}


def test_every_capability_is_a_role_and_onboarding_takes_them_in_this_order() -> None:
    assert set(ROLES) == {folder.name for folder in (CHECKOUT / "roles").iterdir() if folder.is_dir()}
    play = yaml.safe_load((CHECKOUT / "playbooks" / "onboard.yml").read_text(encoding="utf-8"))[-1]
    assert play["tasks"][0]["hpc.onboard.converge"]["capabilities"] == list(ROLES)


@pytest.mark.parametrize("name", [name for name, capability in ROLES.items() if capability.turned_on_by])
def test_what_is_off_declares_nothing(name: str) -> None:
    capability, settings = ROLES[name], defaults(name)
    assert {*capability.turned_on_by} <= {*settings}
    silent = {**settings, **{one: type(settings[one])() for one in capability.turned_on_by}}
    assert capability.is_off(silent)
    assert load_role(name).declare(silent) == {"resources": [], "notes": []}


@pytest.mark.parametrize(
    ("settings", "off"),
    [
        ({"a": [], "b": ""}, True),
        ({"a": "none"}, True),
        ({"a": ["x"]}, False),
        ({"b": "{{ later }}"}, False),
        ({"a": [], "state": "absent"}, False),
    ],
)
def test_one_word_turns_a_capability_on(settings: dict[str, Any], off: bool) -> None:
    assert Role(turned_on_by=("a", "b")).is_off(settings) == off


def test_a_cache_is_looked_for_where_one_can_be_moved() -> None:
    assert {*CACHING} == {*container_caches.CACHES}


@pytest.mark.parametrize(("wanted", "loaded"), [("", False), ("[{program: wandb}]", True)])
def test_what_is_off_is_not_loaded(wanted: str, loaded: bool) -> None:
    """In a process of its own: this one has loaded everything."""
    said = {"tokens_programs": yaml.safe_load(wanted)} if wanted else {}
    program = (
        f"import sys; from {HERE} import collect, table; said = {said!r}; table.prepare_roles([said]);"
        f" collect.collect_resources(['tokens'], [], [], said.get); print('{HERE}.tokens' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(loaded)
    assert bool(collect_resources(["tokens"], [], [], said.get).resources) == loaded


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_is_found_by_its_name(kind: str) -> None:
    assert kind == RESOURCES[kind].KIND
    asked = find_options_class(kind)
    assert asked is None or (kind == asked.KIND and issubclass(RESOURCES[kind], asked))


def test_every_kind_with_a_key_is_of_a_service_that_is_known() -> None:
    holding = {kind for kind in KINDS if {"password", "state"} <= {*RESOURCES[kind].OPTIONS}}
    assert set(key_files()) == holding == set(ROTATED)
    assert {key.service for key in key_files().values()} == set(TITLES)
