# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all accounts of a file share, and what holds for one of them."""

from __future__ import annotations

from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Profile
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import mapping

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
    return entry
