# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where enroot may keep its tokens on an account, by what the site and its owner say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry

Cluster = Mapping[str, Any]  # a profile, as Ansible has it among an account's variables
CACHES = ("~/.cache/enroot", "~/.config/enroot", "~/enroot")  # where enroot has its cache when nobody says
CACHE_VARIABLES = ("ENROOT_CACHE_PATH", "ENROOT_CONFIG_PATH")


def caches(cluster: Cluster, declared: Sequence[PlanEntry]) -> list[str]:
    """The folders in which enroot may keep its tokens here."""
    sections = [entry["options"] for entry in declared if entry["kind"] == "shell_environment"]
    named = [options.get("variables", {}).get(name) for options in sections for name in CACHE_VARIABLES]
    place = (cluster.get("caches") or {}).get("path")
    given = [f"{place}/cache", str(place)] if place else []
    return sorted({*CACHES, *given, *(str(path) for path in named if path)})
