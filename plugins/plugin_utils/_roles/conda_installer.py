# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the conda of an account goes and from which installer, or why none is set up (see conda.py)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from ...module_utils._core.errors import AccountError
from .._input.collection import ROLES_FOLDER
from .._input.yaml_loader import SafeLoader

Settings = Mapping[str, Any]

PINNED = ROLES_FOLDER / "conda" / "files" / "installers.yml"
ANACONDAS = ("defaults", "main", "r", "anaconda", "msys2")
SCRIPTS = {"sh": "etc/profile.d/conda.sh", "csh": "etc/profile.d/conda.csh", "fish": "etc/fish/conf.d/conda.fish"}
LICENCE = (
    "Anaconda's default channels are free of charge for some users only; you accept their terms yourself"
    " (https://www.anaconda.com/legal), or take conda-forge"
)


@lru_cache
def read_pins() -> dict[str, Any]:
    """The installers that are pinned, by distribution."""
    found: dict[str, Any] = yaml.load(PINNED.read_text(encoding="utf-8"), Loader=SafeLoader)
    return found


def reason_to_skip(settings: Settings) -> str | None:
    """Return why no conda is set up, in a sentence; None when one is."""
    site = settings["site"]
    if site["policy"] == "discouraged" and not settings["despite_advice"]:
        return f"{site['why']} If you want it all the same, say so: conda: {{despite_advice: true}}"
    title, terms = read_pins()[settings["distribution"]]["title"], read_pins()[settings["distribution"]].get("terms")
    if terms and settings["anaconda_terms"] != "accepted" and settings["state"] == "present":
        return (
            f"{title} comes with terms of service that only you can accept: read {terms} and say"
            " conda: {anaconda_terms: accepted}, or take Miniforge: conda: {distribution: miniforge}"
        )
    area = _find_area(site)
    if settings["prefix"] or (area and area.get("path") and not area.get("purge")):
        return None
    if area and area.get("purge"):
        return f"{area['name']} is purged, which takes a conda apart: name another place (conda: {{prefix: ...}})"
    if area:
        return f"the path of {area['name']} is not known; {area.get('ask', 'say it in storage:')}"
    return "where its files belong on this site is not known: name a folder (conda: {prefix: ...})"


def _find_area(site: Settings) -> dict[str, Any] | None:
    return next((area for area in site["storage"] if area["name"] == site["area"]), None)


def install_options(settings: Settings) -> dict[str, Any]:
    """The options of conda_install. Raises AccountError for a version or a file that is not there."""
    folder = read_pins()[settings["distribution"]]["folder"]
    site = settings["site"]
    area = _find_area(site) or {}
    inside = "/".join(part for part in (area.get("path"), site["below"], folder) if part)
    prefix = settings["prefix"] or inside
    root = None if settings["prefix"] else area["root"] if area.get("create") else area.get("path")
    return {
        "prefix": prefix + ("-{machine}" if site["by_machine"] else ""),
        "root": root,
        "distribution": settings["distribution"],
        **pinned_installer(settings),
        "channels": settings["channels"],
        "environments": [read_environment(one, settings["files_from"]) for one in settings["environments"]],
        "proxies": settings["proxies"],
        "state": settings["state"],
    }


def own_options(settings: Settings) -> dict[str, Any]:
    """The options of conda_install for a conda of the user's. Raises AccountError without its place."""
    if not settings["prefix"]:
        raise AccountError("conda: distribution: own needs the folder of your conda (conda: {prefix: ...})")
    if settings["environments"]:
        raise AccountError("conda: environments: hpc-onboard does not run a conda of yours: create them in it yourself")
    return {name: settings[name] for name in ("prefix", "distribution", "state")}


def pinned_installer(settings: Settings) -> dict[str, Any]:
    """The version, the installers by architecture, and what they need of the system."""
    pins = read_pins()[settings["distribution"]]
    versions = pins["versions"]
    version = settings["version"] or next(iter(versions))
    pin = versions.get(version, {})
    if not pin and not settings["installers"]:
        raise AccountError(
            f"conda: version {version} of {pins['title']} is not pinned, only {', '.join(versions)}; with"
            " conda_installers you can name its address and sum yourself"
        )
    published = {
        machine: {"url": pins["url"].format(version=version, machine=machine), "sha256": sha256}
        for machine, sha256 in pin.get("sha256", {}).items()
    }
    needs = {name: pin[name] for name in ("glibc", "bytes", "files") if name in pin}
    return {"version": version, "installers": settings["installers"] or published, **needs}


def read_environment(entry: Settings, start: str) -> dict[str, str]:
    """The name and the content of an environment. Raises AccountError when its file cannot be read."""
    file = Path(start, os.path.expanduser(entry["file"]))
    try:
        content = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise AccountError(f"conda: the environment's file {file.absolute()} cannot be read: {why}") from None
    return {"name": entry.get("name") or _read_name(content, file) or file.stem, "content": content}


def _read_name(content: str, file: Path) -> str | None:
    """The name that an environment.yml gives itself, as conda takes it. An explicit lock has none."""
    if "@EXPLICIT" in content.splitlines():
        return None
    try:
        document = yaml.load(content, Loader=SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        raise AccountError(f"conda: {file.absolute()}{where}: this is neither YAML nor an explicit lock") from None
    name = document.get("name") if isinstance(document, dict) else None
    return str(name) if name else None


def shell_functions(prefix: str) -> dict[str, dict[str, str]]:
    """The command conda, defined when it is first used by the script that conda has for each shell."""
    return {"conda": {dialect: f"{prefix}/{script}" for dialect, script in SCRIPTS.items()}}


def uses_anaconda_channels(channels: list[str]) -> bool:
    """Return True if packages would come from Anaconda's own channels, which have terms of their own."""
    return any(name in ANACONDAS or "repo.anaconda.com" in name for name in channels)
