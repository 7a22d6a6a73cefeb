# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The prefix and the installer of an account's conda, or the reason why no conda is set up (see conda.py).

The functions get the settings of the role conda. Their entry `site` is the part of the profile about conda, with its
storage areas.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from ...module_utils._core.errors import AccountError
from ...module_utils._formats import condarc
from .._input.collection import ROLES_FOLDER
from .._input.yaml_loader import SafeLoader
from .table import SET_PATH, Settings

PINNED = ROLES_FOLDER / "conda" / "files" / "installers.yml"
SCRIPTS = {"sh": "etc/profile.d/conda.sh", "csh": "etc/profile.d/conda.csh", "fish": "etc/fish/conf.d/conda.fish"}
LICENCE = (
    "Anaconda's default channels are free of charge only for some users. Check whether their terms"
    " (https://www.anaconda.com/legal) allow your use, or use conda-forge"
)


@lru_cache
def read_pins() -> dict[str, Any]:
    """Return the pinned installers, by distribution."""
    pins: dict[str, Any] = yaml.load(PINNED.read_text(encoding="utf-8"), Loader=SafeLoader)
    return pins


def reason_to_skip(settings: Settings) -> str | None:
    """Return why no conda is set up, or None if a conda can be set up."""
    site = settings["site"]
    if site["policy"] == "discouraged" and not settings["despite_advice"]:
        return f"{site['why']} To install conda anyway, set `conda: {{despite_advice: true}}`"
    pins = read_pins()[settings["distribution"]]
    if pins.get("terms") and settings["anaconda_terms"] != "accepted" and settings["state"] == "present":
        return (
            f"{pins['title']} comes with terms of service that only you can accept. Read {pins['terms']} and set"
            " `conda: {anaconda_terms: accepted}`, or use Miniforge (`conda: {distribution: miniforge}`)"
        )
    area = _find_area(site)
    if settings["prefix"] or (area and area.get("path") and not area.get("purge")):
        return None  # the user's folder or the site's area can contain conda
    if area and area.get("purge"):
        return (
            f"the site purges {area['name']}, which would break conda. Set another folder with `conda: {{prefix: ...}}`"
        )
    if area:
        return f"the path of {area['name']} is unknown. {area.get('ask', SET_PATH)}"
    return "no folder for conda is known at this site. Set a folder with `conda: {prefix: ...}`"


def _find_area(site: Settings) -> dict[str, Any] | None:
    """Return the storage area that the profile recommends for conda; None if the profile names no such area."""
    return next((area for area in site["storage"] if area["name"] == site["area"]), None)


def install_options(settings: Settings) -> dict[str, Any]:
    """Return the options of conda_install. Raise AccountError for an unknown version or an unreadable file."""
    folder = read_pins()[settings["distribution"]]["folder"]
    site = settings["site"]
    area = _find_area(site) or {}
    prefix = settings["prefix"] or "/".join(part for part in (area.get("path"), site["below"], folder) if part)
    # create: the account creates the area; until then, only the area's root exists
    site_root = area["root"] if area.get("create") else area.get("path")
    return {
        "prefix": prefix + ("-{machine}" if site["by_machine"] else ""),  # one for each architecture
        # the folder that must exist before the installation; none is required above the user's own prefix
        "root": None if settings["prefix"] else site_root,
        "distribution": settings["distribution"],
        **pinned_installer(settings),
        "channels": settings["channels"],
        "environments": [read_environment(entry, settings["files_from"]) for entry in settings["environments"]],
        "proxies": settings["proxies"],
        "state": settings["state"],
    }


def own_options(settings: Settings) -> dict[str, Any]:
    """Return the options of conda_install for the user's own conda, which is only checked, never installed.

    Raise AccountError if its prefix is missing, or if environments are requested.
    """
    if not settings["prefix"]:
        raise AccountError("conda: distribution: own requires the path of your conda. Set conda: {prefix: ...}")
    if settings["environments"]:
        raise AccountError(
            "conda: environments cannot be used with your own conda. Remove environments from the settings, and create "
            "them with your conda"
        )
    return {name: settings[name] for name in ("prefix", "distribution", "state")}


def pinned_installer(settings: Settings) -> dict[str, Any]:
    """Return the version, the installers by architecture, and their requirements (glibc, bytes, files).

    Raise AccountError if the version is neither pinned nor described by the user's `installers`.
    """
    pins = read_pins()[settings["distribution"]]
    versions = pins["versions"]
    version = settings["version"] or next(iter(versions))  # the default version is first
    pin = versions.get(version, {})
    if not pin and not settings["installers"]:
        raise AccountError(
            f"conda: version {version} of {pins['title']} is not available; choose {', '.join(versions)}, or set the"
            " address and checksum of its installer yourself (conda_installers)"
        )
    published = {
        machine: {"url": pins["url"].format(version=version, machine=machine), "sha256": sha256}
        for machine, sha256 in pin.get("sha256", {}).items()
    }
    requirements = {name: pin[name] for name in ("glibc", "bytes", "files") if name in pin}
    return {"version": version, "installers": settings["installers"] or published, **requirements}


def read_environment(entry: Settings, base_folder: str) -> dict[str, str]:
    """Return the name and the content of an environment. Raise AccountError if its file cannot be read.

    entry: of the setting `environments`. base_folder: the folder from which a relative path starts.
    """
    file = Path(base_folder, os.path.expanduser(entry["file"]))
    try:
        content = file.read_text(encoding="utf-8-sig")  # some editors on Windows write a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise AccountError(f"conda: the environment file {file.absolute()} cannot be read: {why}") from None
    return {"name": entry.get("name") or _read_name(content, file) or file.stem, "content": content}


def _read_name(content: str, file: Path) -> str | None:
    """Return the name in an environment file, or None. Explicit lock files have no name. Raise AccountError."""
    if condarc.is_explicit(content):
        return None
    try:
        document = yaml.load(content, Loader=SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise AccountError(
            f"conda: {file.absolute()}{line}: the file is neither valid YAML nor an explicit lock file"
        ) from None
    name = document.get("name") if isinstance(document, dict) else None
    return str(name) if name else None


def shell_functions(prefix: str) -> dict[str, dict[str, str]]:
    """Return the scripts that define the command conda, by shell syntax. A shell reads its script at the first use."""
    return {"conda": {dialect: f"{prefix}/{script}" for dialect, script in SCRIPTS.items()}}


def uses_anaconda_channels(channels: list[str]) -> bool:
    """Return True if packages would come from Anaconda's own channels, which have terms of service."""
    return any(map(condarc.is_anaconda_channel, channels))
