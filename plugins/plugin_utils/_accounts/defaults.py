# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge the defaults of an accounts file into the entry of one account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._input.json_schema import as_mapping

Entry = dict[str, Any]  # the settings of an account in the accounts file, or the defaults of all accounts


def merge_defaults(defaults: Entry, entry: Entry, profile: Mapping[str, Any]) -> Entry:
    """Return the entry of an account with the defaults. profile: of the account's cluster.

    Mappings are merged key by key, one level deep; the account's own keys win. Any other value, also a list, replaces
    the default. Empty values are ignored, and so are defaults for a jump host, area or step that the cluster lacks.
    """
    applicable = _select_applicable(defaults, profile)
    own_values = {key: value for key, value in entry.items() if value is not None}
    merged_mappings = {
        key: {**as_mapping(applicable.get(key)), **value}
        for key, value in own_values.items()
        if isinstance(value, dict)
    }
    return {**applicable, **own_values, **merged_mappings}


def _select_applicable(defaults: Entry, profile: Mapping[str, Any]) -> Entry:
    """Return the defaults that are not empty, without those for what the cluster of this profile lacks."""
    applicable = {key: value for key, value in defaults.items() if value is not None}
    if "jump" not in profile["login"]:
        applicable.pop("jump_user", None)
    if "storage" in applicable:
        areas = {area["name"] for area in profile["storage"]}
        applicable["storage"] = {
            name: path for name, path in as_mapping(applicable["storage"]).items() if name in areas
        }
    if "steps" in applicable:
        site_steps = {step["id"] for step in profile.get("human_steps", ())}
        steps = as_mapping(applicable["steps"]).items()  # a step with a text is the user's own
        applicable["steps"] = {name: step for name, step in steps if name in site_steps or "text" in step}
    return applicable


def merge_steps(site_steps: Iterable[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a site's manual steps, with the changes of the account, then the account's own steps.

    settings: the account's setting "steps": by id, the changes of a step of the site, or a step of the account.
    """
    steps = {str(step["id"]): dict(step) for step in site_steps}
    for name, setting in settings.items():
        changes = dict(as_mapping(setting))
        if "due" in changes:  # YAML reads a day as a date, but all other code expects text
            changes["due"] = str(changes["due"])
        steps[name] = {**steps.get(name, {"id": name}), **changes}
    return list(steps.values())
