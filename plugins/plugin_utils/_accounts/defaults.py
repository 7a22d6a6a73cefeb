# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge what all accounts of a file share into the entry of one account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._input.json_schema import as_mapping

Entry = dict[str, Any]  # what the accounts file says of an account, or of all of them


def merge_defaults(shared: Entry, own: Entry, cluster: Mapping[str, Any]) -> Entry:
    """Return the entry of an account on that cluster, with the defaults for what it does not say.

    Mappings are merged key by key, one level deep; the account's own keys win. Any other value replaces the default,
    lists too. An empty value says nothing. Of the defaults only those count that the cluster has a use for.
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
    """Return a site's manual steps with what the account says of them, and then the account's own steps."""
    site = {str(step["id"]): dict(step) for step in steps}
    words = {name: as_mapping(step) for name, step in own.items()}
    words = {name: {**step, **({"due": str(step["due"])} if "due" in step else {})} for name, step in words.items()}
    further = [{"id": name, **step} for name, step in words.items() if name not in site]
    return [*({**step, **words.get(name, {})} for name, step in site.items()), *further]
