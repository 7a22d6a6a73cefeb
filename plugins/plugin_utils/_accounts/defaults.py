# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all accounts of a file share, and what holds for one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .._input.json_schema import mapping

if TYPE_CHECKING:
    from .profiles import Profile

Entry = dict[str, Any]  # what the accounts file says of an account, or of all of them


def together(shared: Entry, own: Entry, cluster: Profile) -> Entry:
    """What holds for an account on that cluster: its own words, and the defaults where it says nothing.

    Of two mappings the keys are joined, one level deep, and the account's own win. Anything else that it says takes the
    place of the default, lists too. What is empty says nothing.
    """
    base = fitting(shared, cluster)
    said = {key: value for key, value in own.items() if value is not None}
    joined = {key: {**mapping(base.get(key)), **value} for key, value in said.items() if isinstance(value, dict)}
    return {**base, **said, **joined}


def fitting(shared: Entry, cluster: Profile) -> Entry:
    """The defaults that mean something on a cluster: its own storage areas, a jump host's user where there is one."""
    entry = {key: value for key, value in shared.items() if value is not None}
    if "jump" not in cluster["login"]:
        entry.pop("jump_user", None)
    areas = {area["name"] for area in cluster["storage"]}
    if "storage" in entry:
        entry["storage"] = {name: path for name, path in mapping(entry["storage"]).items() if name in areas}
    if "steps" in entry:
        known = {step["id"] for step in cluster.get("human_steps", ())}
        entry["steps"] = {
            name: step for name, step in mapping(entry["steps"]).items() if name in known or "text" in step
        }
    return entry


def with_own_steps(steps: Iterable[Mapping[str, Any]], own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What only a person can do for an account: a site's steps with the account's own words, and its own ones."""
    site = {str(step["id"]): dict(step) for step in steps}
    words = {name: {**step, **({"due": str(step["due"])} if "due" in step else {})} for name, step in own.items()}
    further = [{"id": name, **step} for name, step in words.items() if name not in site]
    return [*({**step, **words.get(name, {})} for name, step in site.items()), *further]
