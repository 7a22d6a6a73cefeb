# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability python_envs: Python environments from the site's modules and wheels, or from an index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._core.values import check_word
from . import own_texts
from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

SHARED = ("maker", "offline", "wheels", "index", "search", "in_job", "proxies", "state")


def declare(settings: Settings) -> Declaration:
    """Return what an account gets. Raises AccountError for a file that cannot be read, or a name that two have."""
    names = [one["name"] for one in settings["environments"]]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise AccountError(f"python_envs: two environments are called {twice}")
    return {
        "resources": [resource("python_env", **_env_options(settings, one)) for one in settings["environments"]],
        "notes": [],
    }


def _env_options(settings: Settings, one: Settings) -> dict[str, Any]:
    check_word("python_envs: the name of an environment", one["name"])
    modules = one.get("modules") or settings["modules"]
    if settings["offline"] and not modules:
        raise AccountError(
            f"python_envs: {one['name']} names no module, and this site's wheels are for its own Pythons: say which,"
            " such as modules: [python/3.11] (module spider python shows them)"
        )
    path = one.get("path") or f"{settings['folder']}/{one['name']}"
    return {
        "path": path,
        "root": None if one.get("path") else settings["root"],
        "modules": modules,
        "python": one["python"],
        "packages": [*one["packages"], *_read_requirements(one, settings["files_from"])],
        **{name: settings[name] for name in SHARED},
    }


def _read_requirements(one: Settings, start: str) -> list[str]:
    """The packages that a requirements file names, one a line. Raises AccountError."""
    if not one.get("requirements"):
        return []
    file = Path(start, Path(one["requirements"]).expanduser())
    found = []
    for number, line in enumerate(own_texts.read_own_text("python_envs", file).splitlines(), 1):
        package = line.partition(" #")[0].strip()
        if package.startswith("-") or package.endswith("\\") or "://" in package:
            raise AccountError(
                f"python_envs: {file.absolute()}:{number}: {package!r} is not a package with its version; where"
                " packages come from is said by python_envs: {index: ..., wheels: [...]}, and sums are not looked at"
            )
        if package and not package.startswith("#"):
            found.append(package)
    return found
