# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability container_caches: those of Apptainer and enroot off the home, and the variables for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .table import Settings, declare_nothing, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

CACHES = {
    "apptainer": {
        "APPTAINER_CACHEDIR": "",  # Apptainer makes 'cache' below it itself
        "SINGULARITY_CACHEDIR": "",
        "APPTAINER_TMPDIR": "tmp",
        "SINGULARITY_TMPDIR": "tmp",
    },
    "enroot": {"ENROOT_CACHE_PATH": "cache", "ENROOT_DATA_PATH": "data", "ENROOT_TEMP_PATH": "tmp"},
}


def declare(settings: Settings) -> Declaration:
    """What an account gets.

    settings: runtime, folder (empty where the site gives none), root, why, clean, state.
    """
    if settings["runtime"] not in CACHES:
        return declare_nothing("not_here", settings["why"] or "no container tool with a cache of yours here")
    if not settings["folder"]:
        return declare_nothing("place_unknown", settings["why"] or "the site names no place for caches")
    base = settings["folder"].rstrip("/")
    variables = {name: f"{base}/{below}".rstrip("/") for name, below in CACHES[settings["runtime"]].items()}
    folders = [
        resource("directory", path=folder, root=settings["root"] or None)
        for folder in dict.fromkeys(variables.values())
    ]
    section = resource("shell_environment", section="container_caches", variables=variables, state=settings["state"])
    cache = resource("emptied_cache", path=f"{base}/cache", runtime=settings["runtime"])
    cleaned = [cache] if settings["clean"] and settings["state"] == "present" else []
    return {"resources": [*(folders if settings["state"] == "present" else []), section, *cleaned], "notes": []}
