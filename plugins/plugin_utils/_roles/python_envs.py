# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role python_envs: Python environments from the site's modules and wheels, or from a package index."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._core.values import check_word
from . import own_texts
from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

# Settings that all environments have in common
SHARED = ("maker", "offline", "wheels", "index", "search", "in_job", "proxies", "state")


def declare(settings: Settings) -> Declaration:
    """Declare the environments. Raise AccountError for an unreadable file, or a name that is used twice.

    settings: of the role; among them `environments`, each with `name`, `python` and `packages`; `folder` of the
    environments; `root`, the folder above `folder` that must exist; `files_from`, for relative paths.
    """
    names = [entry["name"] for entry in settings["environments"]]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate:
        raise AccountError(f"python_envs: two environments have the same name, {duplicate}. Rename one of them")
    return {
        "resources": [resource("python_env", **_env_options(settings, entry)) for entry in settings["environments"]],
        "notes": [],
    }


def _env_options(settings: Settings, entry: Settings) -> dict[str, Any]:
    """Return the options of python_env for one entry of the setting environments. Raise AccountError."""
    check_word("python_envs: the name of an environment", entry["name"])
    modules = entry.get("modules") or settings["modules"]
    if settings["offline"] and not modules:
        raise AccountError(
            f"python_envs: {entry['name']} has no modules, but this site's wheels require one of its Python modules."
            " Set modules, for example modules: [python/3.11]. To list all Python modules, run: module spider python"
        )
    return {
        "path": entry.get("path") or f"{settings['folder']}/{entry['name']}",
        "root": None if entry.get("path") else settings["root"],
        "modules": modules,
        "python": entry["python"],
        "packages": [*entry["packages"], *_read_requirements(entry, settings)],
        **{name: settings[name] for name in SHARED},
    }


def _read_requirements(entry: Settings, settings: Settings) -> list[str]:
    """Return the packages in the requirements file of an environment; [] without a file. Raise AccountError.

    entry: of the setting `environments`. settings: see declare().
    """
    if not entry.get("requirements"):
        return []
    file = Path(settings["files_from"], os.path.expanduser(entry["requirements"]))
    packages = []
    lines = own_texts.read_own_text("python_envs", file, settings["state"]).removeprefix(own_texts.BOM).splitlines()
    for number, line in enumerate(lines, 1):
        package = re.split(r"\s#", line)[0].strip()  # without a comment, as pip reads the line
        # an option of pip, a continued line, or an address
        if package.startswith("-") or package.endswith("\\") or "://" in package:
            raise AccountError(
                f"python_envs: {file.absolute()}:{number}: {package!r} is not supported; expected a package and its"
                " version. Set sources with python_envs: {index: ..., wheels: [...]}; hashes are not supported"
            )
        if package and not package.startswith("#"):
            packages.append(package)
    return packages
