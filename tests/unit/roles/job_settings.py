"""The settings that an account of a shipped profile has for its jobs.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import read_profile, render
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import ROLES_FOLDER
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.job_request import find_job_defaults
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import site_settings

CHECKOUT = Path(__file__).parents[3]
PROFILES = {file.stem: read_profile(file) for file in sorted((CHECKOUT / "inventory/clusters").glob("*.yml"))}
WITH_SLURM = [name for name, profile in PROFILES.items() if profile["scheduler"]["kind"] == "slurm"]
PARTITIONS = {"lrz": "lrz-v100x2", "dfki_pegasus": "RTX3090"}  # as a user sets them, where Slurm may have no default


def settings_at(role: str, cluster: str, **chosen: Any) -> dict[str, Any]:
    """Return a role's settings, without the role's name before them. chosen: what the user sets."""
    profile = render(PROFILES[cluster], {"user": "ada", "project": "def-ada"}, {})
    defaults = yaml.safe_load((ROLES_FOLDER / role / "defaults/main.yml").read_text(encoding="utf-8"))
    values = {**defaults, **site_settings(profile, "def-ada")}
    settings = {name.removeprefix(f"{role}_"): value for name, value in values.items() if name.startswith(f"{role}_")}
    return {**settings, **chosen}


def with_partition(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings in which jobs have a partition if the site demands one, as its users must set it."""
    known = settings["limits"].get("partitions", [])
    named = {}
    if settings["limits"].get("partition_required"):
        for name, has_gpus in (("partition", True), ("cpu_partition", False)):
            if not find_job_defaults(settings, has_gpus).partition:
                named[name] = next((one for one in PARTITIONS.values() if one in known), known[0])
    return {**settings, **named}
