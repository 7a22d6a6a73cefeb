# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role container_caches: folders for the caches of Apptainer and enroot outside the home, and their variables."""

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
        "APPTAINER_CACHEDIR": "",  # Apptainer itself creates 'cache' in this folder
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
"""Each variable's other name: Apptainer reads both, and old versions read only the second."""
CONTAINER_FOLDERS = {  # enroot's default folder, for unless_used: containers in it would no longer be found
    "ENROOT_DATA_PATH": {
        "folders": ["~/.local/share/enroot"],
        "below": "",
        "setting": "container_caches: {paths: {ENROOT_DATA_PATH: FOLDER}}",
    }
}


def declare(settings: Settings) -> Declaration:
    """Declare the folders, their variables, and, if the user asks for it, an emptied cache.

    settings: runtime, folder (empty if the site has none), root, why, clean, state; paths: the user's own folders, by
    variable. Raise AccountError for an unknown variable.
    """
    if settings["runtime"] not in CACHES:
        return declare_nothing("not_here", settings["why"] or "the site has no container tool with a cache")
    known = CACHES[settings["runtime"]]
    own = _read_paths(settings["paths"], known)
    if not settings["folder"] and not own:
        return declare_nothing("place_unknown", settings["why"] or "the site names no folder for caches")
    base = settings["folder"].rstrip("/")
    default = {name: f"{base}/{below}".rstrip("/") for name, below in known.items() if base and name not in own}
    folders = [
        *(
            resource("directory", path=folder, root=settings["root"] or None)
            for folder in dict.fromkeys(default.values())
        ),
        *(resource("directory", path=folder) for folder in dict.fromkeys(own.values())),
    ]
    section = resource(
        "shell_environment",
        section="container_caches",
        variables={name: {**default, **own}[name] for name in known if name in default or name in own},
        unless_used={name: rule for name, rule in CONTAINER_FOLDERS.items() if name in default} or None,
        state=settings["state"],
    )
    if settings["state"] == "absent":
        return {"resources": [section], "notes": []}
    cache = resource("emptied_cache", path=f"{base}/cache", runtime=settings["runtime"])
    return {"resources": [*folders, section, *([cache] if base and settings["clean"] else [])], "notes": []}


def _read_paths(paths: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """Return the user's folders by variable; a variable's twin has the same folder unless the user set the twin, too.

    Raise AccountError for an unknown variable.
    """
    unknown = [name for name in paths if name not in known]
    if unknown:
        raise AccountError(f'container_caches: unknown variable "{unknown[0]}" in paths; {nearest(unknown[0], known)}')
    twins = {TWINS[name]: folder for name, folder in paths.items() if name in TWINS}
    return {**twins, **paths}
