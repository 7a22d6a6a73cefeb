# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role enroot_credentials: one line per registry in the file that this site's enroot reads.

A declaration has resources, and notes with the reasons for skipped ones: a code for programs, and a text for the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .table import KeyFileType, Settings, declare_nothing, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, PlanEntry

CACHES = ("~/.cache/enroot", "~/.config/enroot", "~/enroot")  # enroot's default caches
CACHE_VARIABLES = ("ENROOT_CACHE_PATH", "ENROOT_CONFIG_PATH")
KEYS = {"enroot_credential": KeyFileType("ngc", by_containers=True)}


def declare(settings: Settings) -> Declaration:
    """Declare a line for each registry.

    settings: `path` of the credentials file, empty if unknown; `runtime`, the site's container tool; `registries`, each
    with `machine`, and optionally `login` and `secret`; `secret`, the key's name for registries without one; `state`.
    """
    if not settings["path"]:
        if settings["runtime"] != "enroot":
            return declare_nothing("not_here", "no enroot at this site")
        text = "the credentials file of this site's enroot is unknown; set enroot_credentials_path"
        return declare_nothing("place_unknown", text)
    is_present = settings["state"] == "present"  # to remove a line, no key is needed
    entries = [
        resource(
            "enroot_credential",
            path=settings["path"],
            machine=registry["machine"],
            login=registry.get("login"),
            secret=(registry.get("secret") or settings["secret"]) if is_present else None,
            state=settings["state"],
        )
        for registry in settings["registries"]
    ]
    return {"resources": entries, "notes": []}


def token_folders(cluster: Settings, declared: Sequence[PlanEntry]) -> list[str]:
    """Return the folders in which enroot may keep its tokens: enroot's defaults, the profile's and the account's."""
    sections = [entry["options"] for entry in declared if entry["kind"] == "shell_environment"]
    account_folders = [options.get("variables", {}).get(name) for options in sections for name in CACHE_VARIABLES]
    site_folder = (cluster.get("caches") or {}).get("path")
    site_folders = [f"{site_folder}/cache", str(site_folder)] if site_folder else []
    return sorted({*CACHES, *site_folders, *(str(path) for path in account_folders if path)})
