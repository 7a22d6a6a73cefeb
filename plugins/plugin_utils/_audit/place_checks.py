"""Which watches of places an account gets, and with what: from its cluster's profile and what the roles declare.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._roles.conda_installer import uses_anaconda_channels

if TYPE_CHECKING:
    from .._documents.declaration import Options, PlanEntry

Facts = Mapping[str, Any]  # of a cluster, an account or an area, as their schemas describe them

CAPABILITY = "watch"
BIG_BYTES, BIG_FILES = 1_000_000_000, 20_000  # a cache, where the profile does not say how large a home is
LEAST_BYTES = 1_000_000  # of a cache or an image that is worth a word
SHARE = 20  # of a home that is known: a twentieth is big
DIRECTIVE = re.compile(r"^#SBATCH (--(?:partition|qos)=[A-Za-z0-9_.+-]+)$", re.MULTILINE)
RUNTIMES = {
    "apptainer": "apptainer",
    "singularity": "apptainer",
    "enroot": "enroot",
}  # the tool whose cache the profile's place is for


def plan_place_checks(
    cluster: Facts, account: Facts, declared: Iterable[PlanEntry], shells: bool = True
) -> list[PlanEntry]:
    """The entries {kind, capability, options} of one account's watches, their options complete, in a fixed order.

    cluster: the profile with the account's names filled in. account: as the inventory gives it. declared: {kind,
    capability, options} of everything that the roles declare.
    """
    entries = list(declared)
    present = [one for one in entries if one["options"].get("state", "present") == "present"]
    is_slurm = cluster.get("scheduler", {}).get("kind") == "slurm"
    quota = _plan("quota", command=cluster.get("quota_command", ""), places=_places(cluster))
    return [
        _plan("home_caches", **_caches(cluster)),
        _plan("conda_traces", **_conda(cluster, present)),
        _plan("areas", **_areas(cluster, entries, present)),
        *([] if account.get("sandbox") else [quota]),  # a sandbox has none
        *(_slurm_checks(cluster, account, present) if is_slurm and not account.get("sandbox") else []),
        _plan("startup_files", programs=_programs(present), shells=shells),
        _plan("tool_settings", off_home=_off_home(cluster)),
    ]


def _plan(kind: str, **options: Any) -> PlanEntry:
    return {"kind": kind, "capability": CAPABILITY, "options": options}


def _caches(cluster: Facts) -> Options:
    home, caches = cluster["home"], cluster.get("caches", {})
    tool, wanted = RUNTIMES.get(cluster["container"]["runtime"]), {}
    if tool and caches.get("path"):
        wanted[tool] = caches["path"]
    if _off_home(cluster):
        wanted["*"] = _off_home(cluster)
    return {
        "wanted": wanted,
        "big_bytes": max(1, min(BIG_BYTES, home.get("bytes", BIG_BYTES * SHARE) // SHARE)),
        "least_bytes": LEAST_BYTES,
        "big_files": max(1, min(BIG_FILES, home.get("files", BIG_FILES * SHARE) // SHARE)),
    }


def _off_home(cluster: Facts) -> str:
    """Return where the site wants the caches of all tools; empty if it has no such wish."""
    area = cluster.get("caches", {}).get("off_home")
    return _area(cluster, area) if area else ""


def _conda(cluster: Facts, present: Sequence[PlanEntry]) -> Options:
    conda = cluster["conda"]
    own = [one["options"] for one in present if one["kind"] == "conda_install"]
    return {
        "policy": conda["policy"],
        "belongs": _area(cluster, conda["area"]) if "area" in conda else "",
        "own": [{"path": one["prefix"]} for one in own],
        "purged": [{key: one[key] for key in ("name", "path", "days")} for one in _purged(cluster)],
        "anacondas": "chosen" if any(uses_anaconda_channels(one.get("channels", [])) for one in own) else "extra",
    }


def _areas(cluster: Facts, entries: Sequence[PlanEntry], present: Sequence[PlanEntry]) -> Options:
    """Ours are the links that are declared; the site's own lead where the profile says, purged or not."""
    purged = _purged(cluster)
    lasting = [area for area in cluster["storage"] if "purge" not in area]
    return {
        "purged": purged,
        "own": _paths(entries, "storage_link"),
        "made": _paths(present, "directory")
        + [{"path": one["options"]["prefix"]} for one in present if one["kind"] == "conda_install"],
        "kept": sorted(area["link"] for area in lasting if "link" in area),
        "written": [{"path": "~"}, *_paths(present, "directory")]
        + [{"path": _path(area)} for area in cluster["storage"] if _path(area) and "link" in area],
    }


def _slurm_checks(cluster: Facts, account: Facts, present: Sequence[PlanEntry]) -> list[PlanEntry]:
    """Return the checks of what jobs request. Of a project's folder only the user's own one is searched."""
    in_jobs = str(cluster["home"].get("on_compute", ""))
    user = str(account.get("name", "")).rpartition("@")[0]
    paths = [path for path in map(_path, cluster["storage"]) if path and user]
    own = [{"path": path if user in path.split("/") else f"{path}/{user}"} for path in paths]
    requests = _plan("job_requests", home_in_jobs=in_jobs, areas=own)
    return [_plan("slurm_rights", **_slurm(cluster, present)), requests]


def _slurm(cluster: Facts, present: Sequence[PlanEntry]) -> Options:
    """Return what jobs request: the chosen account, and partitions and QOS of the profile and of the job scripts."""
    scheduler = cluster["scheduler"]
    asked = next((one["options"] for one in present if one["kind"] == "scheduler"), {})
    words = " ".join(scheduler.get(name, "") for name in ("gpu", "cpu", "test")).split()
    for one in present:
        words += DIRECTIVE.findall(one["options"].get("content") or "") if one["kind"] == "path_script" else []
    return {
        "account": asked.get("account", ""),
        "likely": asked.get("likely", ""),
        "suffixes": asked.get("suffixes", {}),
        "partitions": list(scheduler.get("partitions", [])),
        "used": sorted({word.removeprefix("--partition=") for word in words if word.startswith("--partition=")}),
        "qos": sorted({word.removeprefix("--qos=") for word in words if word.startswith("--qos=")}),
    }


def _places(cluster: Facts) -> list[Options]:
    """The home and the areas whose paths are known, with their sizes."""
    known = [(area["name"], _path(area), area) for area in cluster["storage"] if _path(area)]
    return [
        {"name": name, "path": path, **_size(facts)} for name, path, facts in [("home", "~", cluster["home"]), *known]
    ]


def _size(facts: Facts) -> dict[str, int]:
    """Return how much one user may have there; of a whole group's share, nobody knows what is one user's."""
    if facts.get("per", "user") in ("group", "project"):
        return {}
    return {key: facts[key] for key in ("bytes", "files") if key in facts}


def _purged(cluster: Facts) -> list[Options]:
    return [
        {"name": area["name"], "path": _path(area), **area["purge"]}
        for area in cluster["storage"]
        if "purge" in area and _path(area)
    ]


def _path(area: Facts) -> str:
    """The area's path, or the site's variable that holds it; one that still lacks a name is not known."""
    path = str(area.get("path") or area.get("variable") or "")
    return "" if "{" in path else path


def _area(cluster: Facts, name: str | None) -> str:
    """The path of an area as a person reads it, else its name."""
    found = next((area for area in cluster["storage"] if area["name"] == name), {"path": name or ""})
    return _path(found) or str(name)


def _programs(present: Sequence[PlanEntry]) -> list[Options]:
    """Return the scripts that are started by their name: those in folders that a role puts on PATH."""
    sections = [one["options"] for one in present if one["kind"] == "shell_environment"]
    on_path = {folder for one in sections for name in ("path", "path_end") for folder in one.get(name) or ()}
    return [one for one in _paths(present, "path_script") if posixpath.dirname(str(one["path"])) in on_path]


def _paths(entries: Sequence[PlanEntry], kind: str) -> list[Options]:
    return [{"path": one["options"]["path"]} for one in entries if one["kind"] == kind]
