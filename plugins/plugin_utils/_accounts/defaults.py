# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge the defaults of an accounts file into the entry of one account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._input.json_schema import as_mapping

Entry = dict[str, Any]  # the settings of an account in the accounts file, or the defaults of all accounts


def merge_defaults(shared: Entry, own: Entry, cluster: Mapping[str, Any]) -> Entry:
    """Return the entry of an account with the defaults. shared: the defaults. own: the entry. cluster: the profile.

    Mappings are merged key by key, one level deep; the account's own keys win. Any other value, also a list, replaces
    the default. Empty values are ignored, and so are defaults for a jump host, area or step that the cluster lacks.
    """
    base = {key: value for key, value in shared.items() if value is not None}
    if "jump" not in cluster["login"]:
        base.pop("jump_user", None)
    if "storage" in base:
        areas = {area["name"] for area in cluster["storage"]}
        base["storage"] = {name: path for name, path in as_mapping(base["storage"]).items() if name in areas}
    if "steps" in base:
        known = {step["id"] for step in cluster.get("human_steps", ())}
        steps = as_mapping(base["steps"]).items()
        base["steps"] = {name: step for name, step in steps if name in known or "text" in step}
    written = {key: value for key, value in own.items() if value is not None}
    merged = {key: {**as_mapping(base.get(key)), **value} for key, value in written.items() if isinstance(value, dict)}
    return {**base, **written, **merged}


def merge_steps(steps: Iterable[Mapping[str, Any]], own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a site's manual steps, updated with the account's settings for them, then the account's own steps.

    steps: those of the site. own: the account's setting steps, by id.
    """
    site = {str(step["id"]): dict(step) for step in steps}
    own = {name: as_mapping(step) for name, step in own.items()}
    # YAML reads a day as a date, but all other code expects text.
    own = {name: {**step, **({"due": str(step["due"])} if "due" in step else {})} for name, step in own.items()}
    further = [{"id": name, **step} for name, step in own.items() if name not in site]
    return [*({**step, **own.get(name, {})} for name, step in site.items()), *further]
