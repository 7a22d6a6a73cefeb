# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge the defaults of an accounts file into the entry of one account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._input.json_schema import as_mapping

Entry = dict[str, Any]  # the settings of an account in the accounts file, or the defaults of all accounts


def merge_defaults(defaults: Entry, own: Entry, cluster: Mapping[str, Any]) -> Entry:
    """Return the entry of an account with the defaults. own: the entry. cluster: the profile.

    Mappings are merged key by key, one level deep; the account's own keys win. Any other value, also a list, replaces
    the default. Empty values are ignored, and so are defaults for a jump host, area or step that the cluster lacks.
    """
    applicable = {key: value for key, value in defaults.items() if value is not None}
    if "jump" not in cluster["login"]:
        applicable.pop("jump_user", None)
    if "storage" in applicable:
        areas = {area["name"] for area in cluster["storage"]}
        applicable["storage"] = {
            name: path for name, path in as_mapping(applicable["storage"]).items() if name in areas
        }
    if "steps" in applicable:
        site_steps = {step["id"] for step in cluster.get("human_steps", ())}
        steps = as_mapping(applicable["steps"]).items()
        applicable["steps"] = {name: step for name, step in steps if name in site_steps or "text" in step}
    own_values = {key: value for key, value in own.items() if value is not None}
    merged = {
        key: {**as_mapping(applicable.get(key)), **value}
        for key, value in own_values.items()
        if isinstance(value, dict)
    }
    return {**applicable, **own_values, **merged}


def merge_steps(steps: Iterable[Mapping[str, Any]], own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a site's manual steps, updated with the account's settings for them, then the account's own steps.

    steps: those of the site. own: the account's setting steps, by id.
    """
    site_steps = {str(step["id"]): dict(step) for step in steps}
    own = {name: as_mapping(step) for name, step in own.items()}
    # YAML reads a day as a date, but all other code expects text.
    own = {name: {**step, **({"due": str(step["due"])} if "due" in step else {})} for name, step in own.items()}
    new_steps = [{"id": name, **step} for name, step in own.items() if name not in site_steps]
    return [*({**step, **own.get(name, {})} for name, step in site_steps.items()), *new_steps]
