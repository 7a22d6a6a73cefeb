# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability container_caches: those of Apptainer and enroot off the home, and the variables for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._input.diagnostics import nearest
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


TWINS = {
    name: name.replace("APPTAINER", "SINGULARITY") if "APPTAINER" in name else name.replace("SINGULARITY", "APPTAINER")
    for name in CACHES["apptainer"]
}
"""Variables of which Apptainer reads the other one, too, or an older version only that."""
STORE = {  # enroot's default place for containers, which no other variable leads to
    "ENROOT_DATA_PATH": {
        "folders": ["~/.local/share/enroot"],
        "below": "",
        "setting": "container_caches: {paths: {ENROOT_DATA_PATH: FOLDER}}",
    }
}


def declare(settings: Settings) -> Declaration:
    """Return what an account gets.

    settings: runtime, folder (empty where the site gives none), root, why, clean, state; paths {variable: folder}, the
    user's own. Raises AccountError for a variable that is not known.
    """
    if settings["runtime"] not in CACHES:
        return declare_nothing("not_here", settings["why"] or "no container tool with a cache of yours here")
    known = CACHES[settings["runtime"]]
    own = _read_paths(settings["paths"], known)
    if not settings["folder"] and not own:
        return declare_nothing("place_unknown", settings["why"] or "the site names no place for caches")
    base = settings["folder"].rstrip("/")
    usual = {name: f"{base}/{below}".rstrip("/") for name, below in known.items() if base and name not in own}
    folders = [
        *(
            resource("directory", path=folder, root=settings["root"] or None)
            for folder in dict.fromkeys(usual.values())
        ),
        *(resource("directory", path=folder) for folder in dict.fromkeys(own.values())),
    ]
    section = resource(
        "shell_environment",
        section="container_caches",
        variables={name: {**usual, **own}[name] for name in known if name in usual or name in own},
        unless_used={name: one for name, one in STORE.items() if name in usual} or None,
        state=settings["state"],
    )
    cache = resource("emptied_cache", path=f"{base}/cache", runtime=settings["runtime"])
    cleaned = [cache] if base and settings["clean"] and settings["state"] == "present" else []
    return {"resources": [*(folders if settings["state"] == "present" else []), section, *cleaned], "notes": []}


def _read_paths(paths: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The user's own folder for each variable, and for its twin where that has none. Raises AccountError."""
    unknown = [name for name in paths if name not in known]
    if unknown:
        raise AccountError(f'container_caches: unknown variable "{unknown[0]}" in paths; {nearest(unknown[0], known)}')
    twins = {TWINS[name]: folder for name, folder in paths.items() if name in TWINS}
    return {**twins, **paths}
