"""The folder of this machine that stands for a cluster, and what the site would have made in it.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .._input.json_schema import is_template
from .profiles import Profile

VARIABLE = re.compile(r"\$(\w+)")


def pretended(name: str, user: str, cluster: Profile, folder: Path) -> dict[str, Any]:
    """The sandbox of an account whose file lies in that folder."""
    environment = cluster.get("sandbox_environment", {})
    return {
        "root": str(folder / ".sandbox" / name),
        "home": cluster["home"].get("path", f"/home/{user}"),
        "environment": environment,
        "folders": site_folders(cluster["storage"], environment),
    }


def site_folders(areas: list[dict[str, Any]], environment: dict[str, str]) -> list[str]:
    """Folders that the site itself has made: the roots of areas, or the areas that accounts cannot make."""
    wanted = [area["root"] if area.get("create") else area.get("path", "") for area in areas]
    plain = [resolved(str(path), environment) for path in wanted if not is_template(path)]
    return sorted({path for path in plain if path.startswith("/") and ".." not in path.split("/")})


def resolved(path: str, environment: dict[str, str]) -> str:
    """A path with the site's variables put in; one that is not known stays."""
    return VARIABLE.sub(lambda name: environment.get(name[1], name[0]), path)
