# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability enroot_credentials: one line per registry in the file that this site's enroot reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .table import KeyFileType, Settings, declare_nothing, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, PlanEntry

CACHES = ("~/.cache/enroot", "~/.config/enroot", "~/enroot")  # where enroot has its cache by default
CACHE_VARIABLES = ("ENROOT_CACHE_PATH", "ENROOT_CONFIG_PATH")
KEYS = {"enroot_credential": KeyFileType("ngc", by_containers=True)}


def declare(settings: Settings) -> Declaration:
    """Return what an account gets.

    settings: path (empty where nobody knows where it reads), runtime of the site, registries
    [{machine, login?, secret?}], secret, state.
    """
    if not settings["path"]:
        if settings["runtime"] != "enroot":
            return declare_nothing("not_here", "no enroot here")
        text = "where this site's enroot reads its keys is not known; set enroot_credentials_path"
        return declare_nothing("place_unknown", text)
    entries = [
        resource(
            "enroot_credential",
            path=settings["path"],
            machine=registry["machine"],
            login=registry.get("login"),
            secret=(registry.get("secret") or settings["secret"]) if settings["state"] == "present" else None,
            state=settings["state"],
        )
        for registry in settings["registries"]
    ]
    return {"resources": entries, "notes": []}


def token_folders(cluster: Settings, declared: Sequence[PlanEntry]) -> list[str]:
    """Return the folders in which enroot may keep its tokens, by the profile and by what an account declares."""
    sections = [entry["options"] for entry in declared if entry["kind"] == "shell_environment"]
    named = [options.get("variables", {}).get(name) for options in sections for name in CACHE_VARIABLES]
    place = (cluster.get("caches") or {}).get("path")
    given = [f"{place}/cache", str(place)] if place else []
    return sorted({*CACHES, *given, *(str(path) for path in named if path)})
