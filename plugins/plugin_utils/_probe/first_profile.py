# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A first profile of a cluster that none describes, from what one account there shows.

It says only what was seen. What a site allows, such as conda of one's own, is the user's to answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._input.json_schema import write_yaml

if TYPE_CHECKING:
    from .observations import Observations

HEAD = """\
# {name}: as `hpc-onboard probe` saw it on {day}, with the account {account}.
# Format: docs/schemas/profile.schema.json. Each line is yours to correct. To compare it with the cluster again:
#   hpc-onboard probe {account}
---
"""
RUNTIMES = ("apptainer", "singularity", "enroot")
MOST_HOURS = 24 * 365
AREA = re.compile(r"[a-z][a-z0-9_-]*")


def list_areas(seen: Observations) -> dict[str, dict[str, Any]]:
    """Return the areas in which the account can write, by name: those of the site's variables go first."""
    found: dict[str, dict[str, Any]] = {}
    for text in seen.texts:
        kind, _blank, name = text.partition(" ")
        word = name.lower().replace("_", "-")
        if kind == "variable" and seen.text(text).startswith("/") and AREA.fullmatch(word):
            found[word] = {"name": word, "variable": f"${name}", "link": word}
    taken = {seen.text(f"variable {one['variable'][1:]}") for one in found.values()}
    for text in seen.texts:
        name = text.removeprefix("area ")
        area = seen.area(name)
        if text.startswith("area ") and area.kind == "folder" and area.is_writable and area.path not in taken:
            found.setdefault(name, {"name": name, "path": area.path, "link": name})
    return found


def build_profile(name: str, login: Mapping[str, Any], user: str, seen: Observations, answers: Mapping[str, str]) -> \
        dict[str, Any]:  # fmt: skip
    """Return the profile of a cluster. login: how it is reached.

    answers: title, area (for large data) and conda (a policy).
    """
    areas = list_areas(seen)
    chosen = answers.get("area", "")
    profile: dict[str, Any] = {"format": 2, "id": name, "status": "own", "login": dict(login)}
    profile["name"] = answers.get("title") or name
    profile |= {key: value for key, value in (("arch", [seen.text("arch")]), ("os", seen.text("os"))) if value}
    profile["home"] = _home(seen, user)
    if areas:
        paths = {word: {**one, "path": one["path"].replace(user, "{user}")} if "path" in one else one
                 for word, one in areas.items()}  # fmt: skip
        profile["storage"] = list(paths.values())
        profile["links"] = {"by": "us"}
    runtime = next((one for one in RUNTIMES if seen.text(f"program {one}")), "")
    module = next((one for one in RUNTIMES if seen.text(f"module {one}") == "yes"), "")
    if runtime or module:
        container = {"runtime": runtime or module, "on_login": bool(runtime)}
        profile["container"] = container if runtime else {**container, "module": module}
        if chosen:
            profile["caches"] = {"area": chosen, "below": runtime or module, "off_home": chosen}
    if answers.get("conda"):
        place = {"area": chosen, "below": "conda"} if chosen and answers["conda"] != "refused" else {}
        profile["conda"] = {"policy": answers["conda"], **place}
    if seen.partitions():
        profile["scheduler"] = _scheduler(seen)
    if any(text.startswith("quota ") for text in seen.texts):
        profile["quota_command"] = "quota -s -w"
    return profile


def render(profile: Mapping[str, Any], account: str, day: str) -> str:
    """Return the text of a profile, one part after another. day: on which it was seen."""
    order = ("format", "id", "name", "status")
    parts = ["".join(f"{write_yaml(key, profile[key])}\n" for key in order)]
    parts += [f"{write_yaml(key, value)}\n" for key, value in profile.items() if key not in order]
    return HEAD.format(name=profile["id"], account=account, day=day) + "\n".join(parts)


def _home(seen: Observations, user: str) -> dict[str, Any]:
    path = seen.text("home")
    home: dict[str, Any] = {"path": path.replace(user, "{user}")} if user in path else {}
    for what in ("bytes", "files"):
        limit = next((number for place, number in seen.quotas(what).items()
                      if path.startswith(place.rstrip("/") + "/") or place.strip("/") == "home"), 0)  # fmt: skip
        home |= {what: limit} if limit else {}
    return home


def _scheduler(seen: Observations) -> dict[str, Any]:
    """Return what Slurm showed of its partitions and nodes."""
    names = seen.partitions()
    says: dict[str, Any] = {"kind": "slurm", "partitions": names}
    default = seen.slurm.get("default_partition")
    if default == "":
        says["partition_required"] = True
    gpu = next((nodes for nodes in sorted(seen.nodes, key=lambda one: one.partition != default) if nodes.gpus), None)
    cpu = next((one.partition for one in seen.nodes if not one.gpus), "")
    if gpu:
        kind = next(iter(gpu.gpus))
        partition = "" if gpu.partition == default else f"--partition={gpu.partition} "
        says["gpu"] = f"{partition}--gres=gpu:{kind + ':' if kind else ''}1"
        most = max(sum(nodes.gpus.values()) for nodes in seen.nodes)
        says["gpus_per_node"] = list(range(1, most + 1))
    if cpu and default in ("", *(nodes.partition for nodes in seen.nodes if nodes.gpus)):
        says["cpu"] = f"--partition={cpu}"
    hours = {name: seen.hours(name) for name in names}
    if known := {name: round(limit, 2) for name, limit in hours.items() if limit and limit <= MOST_HOURS}:
        says["partition_hours"] = {name: int(limit) if limit == int(limit) else limit for name, limit in known.items()}
    return says
