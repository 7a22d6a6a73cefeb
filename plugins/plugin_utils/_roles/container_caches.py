# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role container_caches: folders for the caches of Apptainer and enroot outside the home, and their variables.

A declaration has resources, and notes with the reasons for skipped ones: a code for programs, and a text for the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
CONTAINER_FOLDERS = {  # for the option unless_used: do not set this variable while enroot's default folder is in use
    "ENROOT_DATA_PATH": {
        "folders": ["~/.local/share/enroot"],
        "below": "",
        "setting": "container_caches: {paths: {ENROOT_DATA_PATH: FOLDER}}",
    }
}


def declare(settings: Settings) -> Declaration:
    """Declare the folders, their variables, and, if the user requests it, an emptied cache.

    settings: `runtime`, the container tool; `folder` for the caches, empty if the site has no such folder; `why`, the
    reason for an empty folder; `root`, the folder above `folder` that must exist; `clean`, to empty the cache; `paths`,
    the user's own folders, by variable; `state`. Raise AccountError for an unknown variable.
    """
    if settings["runtime"] not in CACHES:
        return declare_nothing("not_here", settings["why"] or "the site has no container tool with a cache")
    subfolders = CACHES[settings["runtime"]]  # by variable
    user_folders = _read_paths(settings["paths"], subfolders)
    if not settings["folder"] and not user_folders:
        return declare_nothing("place_unknown", settings["why"] or "no folder for caches is known at this site")
    base = settings["folder"].rstrip("/")
    default_folders = {
        name: f"{base}/{below}".rstrip("/") for name, below in subfolders.items() if base and name not in user_folders
    }
    values = {**default_folders, **user_folders}
    section = resource(
        "shell_environment",
        section="container_caches",
        variables={name: values[name] for name in subfolders if name in values},
        unless_used={name: rule for name, rule in CONTAINER_FOLDERS.items() if name in default_folders} or None,
        state=settings["state"],
    )
    if settings["state"] == "absent":
        return {"resources": [section], "notes": []}
    root = settings["root"] or None
    folders = [resource("directory", path=path, root=root) for path in dict.fromkeys(default_folders.values())]
    folders += [resource("directory", path=path) for path in dict.fromkeys(user_folders.values())]
    cache = resource("emptied_cache", path=f"{base}/cache", runtime=settings["runtime"])
    return {"resources": [*folders, section, *([cache] if base and settings["clean"] else [])], "notes": []}


def _read_paths(paths: Mapping[str, str], variables: Iterable[str]) -> dict[str, str]:
    """Return the user's folders by variable. A variable's twin gets the same folder, unless the user has set the twin.

    paths: the user's setting. variables: the known ones. Raise AccountError for an unknown variable.
    """
    unknown = [name for name in paths if name not in variables]
    if unknown:
        raise AccountError(
            f'container_caches: unknown variable "{unknown[0]}" in paths; {nearest(unknown[0], variables)}'
        )
    twins = {TWINS[name]: folder for name, folder in paths.items() if name in TWINS}
    return {**twins, **paths}
