# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A first profile of a cluster that has none, from the observations of one account.

A profile describes a cluster; docs/schemas/profile.schema.json explains its fields. An observation is a text with a
name, such as "variable SCRATCH" or "program enroot".

The profile contains only facts that were observed. The user answers what the site allows, such as a conda of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._input.json_schema import write_yaml
from .observations import LEAST_HOURS, insert_user

if TYPE_CHECKING:
    from .observations import Observations

HEAD = """\
# {name}: as observed by `hpc-onboard probe` on {day}, with the account {account}.
# Format: docs/schemas/profile.schema.json. Correct any errors. To compare this profile with the cluster again:
#   hpc-onboard probe {account}
---
"""
RUNTIMES = ("apptainer", "singularity", "enroot")
MOST_HOURS = 24 * 365  # a longer limit of a partition is in effect none
AREA_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def list_areas(observations: Observations) -> dict[str, dict[str, Any]]:
    """Return the storage areas for the profile, by name: first those of the site's variables, then writable folders.

    Each area has its name, its variable or path, and the name of the link to it in the home.
    """
    areas: dict[str, dict[str, Any]] = {}
    for observation in observations.texts:
        kind, _blank, variable = observation.partition(" ")
        name = variable.lower().replace("_", "-")
        if kind == "variable" and observations.text(observation).startswith("/") and AREA_NAME.fullmatch(name):
            areas[name] = {"name": name, "variable": f"${variable}", "link": name}
    # Folders that a variable of the site names are not listed again.
    variable_paths = {observations.text(f"variable {fields['variable'][1:]}") for fields in areas.values()}
    for observation in observations.texts:
        name = observation.removeprefix("area ")
        area = observations.area(name)
        if (
            observation.startswith("area ")
            and area.kind == "folder"
            and area.is_writable
            and area.path not in variable_paths
        ):
            areas.setdefault(name, {"name": name, "path": area.path, "link": name})
    return areas


def build_profile(
    name: str, login: Mapping[str, Any], user: str, observations: Observations, answers: Mapping[str, str]
) -> dict[str, Any]:
    """Return the profile of a cluster. name: of the cluster. login: the profile's part about the login node.

    user: the user name of the observed account; the profile has {user} in its place. answers: of the user, with the
    keys title, area (for caches and other large data) and conda (a policy); all optional.
    """
    area = answers.get("area", "")
    profile: dict[str, Any] = {"format": 2, "id": name, "status": "own", "login": dict(login)}
    profile["name"] = answers.get("title") or name
    profile["arch"] = [observations.text("arch")]
    if system := observations.text("os"):
        profile["os"] = system
    profile["home"] = _describe_home(observations, user)
    if areas := list_areas(observations):
        profile["storage"] = [
            {key: insert_user(value, user) if key == "path" else value for key, value in fields.items()}
            for fields in areas.values()
        ]
        profile["links"] = {"by": "us"}  # hpc-onboard creates the links to the areas, not the site
    program = next((runtime for runtime in RUNTIMES if observations.text(f"program {runtime}")), "")
    module = next((runtime for runtime in RUNTIMES if observations.text(f"module {runtime}") == "yes"), "")
    if program or module:
        container = {"runtime": program or module, "on_login": bool(program)}  # on_login: available on login nodes
        profile["container"] = container if program else {**container, "module": module}
        if area:
            # below: the folder in the area. off_home: the area for the caches of other tools, too
            profile["caches"] = {"area": area, "below": program or module, "off_home": area}
    if answers.get("conda"):
        place = {"area": area, "below": "conda"} if area and answers["conda"] != "refused" else {}
        profile["conda"] = {"policy": answers["conda"], **place}
    if observations.partitions():
        profile["scheduler"] = _describe_scheduler(observations)
    if any(observation.startswith("quota ") for observation in observations.texts):
        profile["quota_command"] = "quota -s -w"
    return profile


def render_profile(profile: Mapping[str, Any], account: str, day: str) -> str:
    """Return the text of a profile: its first four fields, then each other part after an empty line.

    day: of the observations.
    """
    first_fields = ("format", "id", "name", "status")
    parts = ["".join(f"{write_yaml(key, profile[key])}\n" for key in first_fields)]
    parts += [f"{write_yaml(key, value)}\n" for key, value in profile.items() if key not in first_fields]
    return HEAD.format(name=profile["id"], account=account, day=day) + "\n".join(parts)


def _describe_home(observations: Observations, user: str) -> dict[str, Any]:
    """Return the profile's part about the home: its path, if it contains the user name, and its quotas."""
    path = observations.text("home")
    path_of_all = insert_user(path, user)
    home: dict[str, Any] = {"path": path_of_all} if path_of_all != path else {}
    for unit in ("bytes", "files"):
        if limit := observations.find_quota(unit, "home", path):
            home[unit] = limit
    return home


def _describe_scheduler(observations: Observations) -> dict[str, Any]:
    """Return the profile's part about Slurm: partitions, their hours, and the options for GPU and CPU jobs."""
    names = observations.partitions()
    scheduler: dict[str, Any] = {"kind": "slurm", "partitions": names}
    default = observations.slurm.get("default_partition")  # "": Slurm has none; None: not observed
    if default == "":
        scheduler["partition_required"] = True
    default_first = sorted(observations.nodes, key=lambda nodes: nodes.partition != default)
    with_gpus = [nodes for nodes in default_first if nodes.gpus]
    cpu_partition = next((nodes.partition for nodes in observations.nodes if not nodes.gpus), "")
    if with_gpus:
        gpu_type = next(iter(with_gpus[0].gpus))  # "" if sinfo does not show the type
        partition = "" if with_gpus[0].partition == default else f"--partition={with_gpus[0].partition} "
        scheduler["gpu"] = f"{partition}--gres=gpu:{gpu_type + ':' if gpu_type else ''}1"
        most_gpus = max(sum(nodes.gpus.values()) for nodes in with_gpus if gpu_type in nodes.gpus)
        scheduler["gpus_per_node"] = list(range(1, most_gpus + 1))
    # CPU jobs need an option if no partition is the default, or the default has GPUs
    needs_cpu_option = default in ("", *(nodes.partition for nodes in with_gpus))
    if cpu_partition and needs_cpu_option:
        scheduler["cpu"] = f"--partition={cpu_partition}"
    limits = {name: observations.hours(name) for name in names}
    if hours := {name: limit for name, limit in limits.items() if limit and LEAST_HOURS <= limit <= MOST_HOURS}:
        scheduler["partition_hours"] = hours
    return scheduler
