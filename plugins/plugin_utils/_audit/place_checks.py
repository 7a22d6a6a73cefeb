# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit checks for caches, storage, Slurm, start-up files and settings of tools: their plan entries.

A cluster's profile lists its storage areas, each with a name and a path, or a variable of the site that contains the
path. "purge" is the site's rule for the deletion of old files in an area. The present entries of a plan are those for
resources that shall exist, unlike those that hpc-onboard removes.
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

CAPABILITY = "watch"  # in place of a role, as for all audit checks
BIG_BYTES, BIG_FILES = 1_000_000_000, 20_000  # a big cache, if the profile does not give the size of the home directory
LEAST_BYTES = 1_000_000  # smaller caches and images are not reported
SHARE = 20  # a cache is big if it takes a twentieth of the home directory
REQUEST = re.compile(r"^(?:#SBATCH --|[gc]pu_)((?:partition|qos)=)'?([A-Za-z0-9_.+-]+)'?$", re.MULTILINE)
"""A line that requests a partition or QOS: "#SBATCH --qos=NAME" of a job script, "gpu_qos=NAME" of a launcher."""
RUNTIMES = {
    "apptainer": "apptainer",
    "singularity": "apptainer",
    "enroot": "enroot",
}  # container runtime of the profile -> tool that uses the profile's folder for caches


def plan_place_checks(
    cluster: Facts, account: Facts, declared: Iterable[PlanEntry], may_start_shells: bool = True
) -> list[PlanEntry]:
    """Return the plan entries of an account's audit checks for places, in a fixed order.

    cluster: the profile, in which the account's names are filled in. account: from the inventory. declared: the
    entries of all roles. may_start_shells: to see what start-up files do.
    """
    entries = list(declared)
    present = [entry for entry in entries if entry["options"].get("state", "present") == "present"]
    is_slurm = cluster.get("scheduler", {}).get("kind") == "slurm"
    quota = make_entry("quota", command=cluster.get("quota_command", ""), places=_list_places(cluster))
    checks = [
        make_entry("home_caches", **_cache_options(cluster)),
        make_entry("conda_traces", **_conda_options(cluster, present)),
        make_entry("areas", **_area_options(cluster, entries, present)),
    ]
    if not account.get("sandbox"):  # a folder of this machine, which has no quotas and no Slurm
        checks += [quota, *(_plan_slurm_checks(cluster, account, present) if is_slurm else [])]
    return [
        *checks,
        make_entry("startup_files", programs=_list_programs(present), shells=may_start_shells),
        make_entry("tool_settings", off_home=_find_cache_area(cluster)),
    ]


def make_entry(kind: str, **options: Any) -> PlanEntry:
    """Return the plan entry of an audit check. kind: the name of the check."""
    return {"kind": kind, "capability": CAPABILITY, "options": options}


def _cache_options(cluster: Facts) -> Options:
    """Return the options of the check for caches in the home directory.

    wanted: tool -> the folder where the site wants its caches; "*" for all tools. big_bytes, big_files: a cache of this
    size is big. least_bytes: smaller caches are not reported.
    """
    home = cluster["home"]
    folder_by_tool: dict[str, str] = {}
    container_tool = RUNTIMES.get(cluster["container"]["runtime"])
    container_folder = cluster.get("caches", {}).get("path")
    if container_tool and container_folder:
        folder_by_tool[container_tool] = container_folder
    if area := _find_cache_area(cluster):
        folder_by_tool["*"] = area
    return {
        "wanted": folder_by_tool,
        # A twentieth of the home directory, but at most BIG_BYTES and BIG_FILES, also for a home of unknown size.
        "big_bytes": max(1, min(BIG_BYTES, home.get("bytes", BIG_BYTES * SHARE) // SHARE)),
        "least_bytes": LEAST_BYTES,
        "big_files": max(1, min(BIG_FILES, home.get("files", BIG_FILES * SHARE) // SHARE)),
    }


def _find_cache_area(cluster: Facts) -> str:
    """Return the path of the storage area in which the site wants the caches of all tools, or an empty text."""
    area = cluster.get("caches", {}).get("off_home")
    return _name_area(cluster, area) if area else ""


def _conda_options(cluster: Facts, present: Sequence[PlanEntry]) -> Options:
    """Return the options of the check for conda, from the site's policy and the declared installations.

    policy: of the site. belongs: the place where the site wants conda. own: declared installations. purged: areas that
    the site purges. anacondas: "chosen" if the user has declared channels of Anaconda, else "extra", so that the check
    reports them.
    """
    conda = cluster["conda"]
    installs = [entry["options"] for entry in present if entry["kind"] == "conda_install"]
    has_chosen = any(uses_anaconda_channels(options.get("channels", [])) for options in installs)
    return {
        "policy": conda["policy"],
        "belongs": _name_area(cluster, conda["area"]) if "area" in conda else "",
        "own": [{"path": options["prefix"]} for options in installs],
        "purged": [{key: area[key] for key in ("name", "path", "days")} for area in _list_purged(cluster)],
        "anacondas": "chosen" if has_chosen else "extra",
    }


def _area_options(cluster: Facts, entries: Sequence[PlanEntry], present: Sequence[PlanEntry]) -> Options:
    """Return the options of the check for storage areas. entries: of all roles. present: the present ones of them.

    purged: areas that the site purges. own: declared links. made: declared folders. kept: links of the site to areas
    that are not purged. written: folders that must be writable: the home, declared folders, and areas with a link.
    """
    lasting = [area for area in cluster["storage"] if "purge" not in area]
    return {
        "purged": _list_purged(cluster),
        "own": _list_paths(entries, "storage_link"),
        "made": _list_paths(present, "directory")
        + [{"path": entry["options"]["prefix"]} for entry in present if entry["kind"] == "conda_install"],
        "kept": sorted(area["link"] for area in lasting if "link" in area),
        "written": [{"path": "~"}, *_list_paths(present, "directory")]
        + [{"path": _area_path(area)} for area in cluster["storage"] if _area_path(area) and "link" in area],
    }


def _plan_slurm_checks(cluster: Facts, account: Facts, present: Sequence[PlanEntry]) -> list[PlanEntry]:
    """Return the checks of rights in Slurm, and of Slurm requests in job scripts in the user's storage folders."""
    home_in_jobs = str(cluster["home"].get("on_compute", ""))  # how jobs see the home directory, such as "ro"
    user = str(account.get("name", "")).rpartition("@")[0]
    paths = [path for path in map(_area_path, cluster["storage"]) if path and user]
    # the path of some areas already is the user's own folder
    folders = [{"path": path if user in path.split("/") else f"{path}/{user}"} for path in paths]
    requests = make_entry("job_requests", home_in_jobs=home_in_jobs, areas=folders)
    return [make_entry("slurm_rights", **_slurm_options(cluster, present)), requests]


def _slurm_options(cluster: Facts, present: Sequence[PlanEntry]) -> Options:
    """Return the options of the check for the user's rights in Slurm.

    account: the Slurm account that the user has set. likely: the project, if the site names Slurm accounts after
    projects. suffixes: purpose of a job -> suffix of its Slurm account. partitions: all of the site. used, qos:
    partitions and QOS that the profile and the declared scripts request.
    """
    scheduler = cluster["scheduler"]
    declared = next((entry["options"] for entry in present if entry["kind"] == "scheduler"), {})
    # arguments of sbatch, such as "--partition=gpu"
    requests = " ".join(scheduler.get(purpose, "") for purpose in ("gpu", "cpu", "test")).split()
    for entry in present:
        if entry["kind"] == "path_script":
            requests_in_script = REQUEST.findall(entry["options"].get("content") or "")
            requests += [f"--{option}{value}" for option, value in requests_in_script]
    return {
        "account": declared.get("account", ""),
        "likely": declared.get("likely", ""),
        "suffixes": declared.get("suffixes", {}),
        "partitions": list(scheduler.get("partitions", [])),
        "used": _list_values(requests, "--partition="),
        "qos": _list_values(requests, "--qos="),
    }


def _list_values(requests: Iterable[str], option: str) -> list[str]:
    return sorted({request.removeprefix(option) for request in requests if request.startswith(option)})


def _list_places(cluster: Facts) -> list[Options]:
    """Return the home directory and the areas whose paths are known, with the limits of one user."""
    home: Options = {"name": "home", "path": "~", **_read_user_limits(cluster["home"])}
    areas = [area for area in cluster["storage"] if _area_path(area)]
    return [home, *({"name": area["name"], "path": _area_path(area), **_read_user_limits(area)} for area in areas)]


def _read_user_limits(facts: Facts) -> dict[str, int]:
    """Return the bytes and files that one user may have; nothing for a limit that a group or a project shares."""
    if facts.get("per", "user") in ("group", "project"):
        return {}  # the share of this user is unknown
    return {key: facts[key] for key in ("bytes", "files") if key in facts}


def _list_purged(cluster: Facts) -> list[Options]:
    """Return name, path and purge rule (days, clock) of each area that the site purges and whose path is known."""
    return [
        {"name": area["name"], "path": _area_path(area), **area["purge"]}
        for area in cluster["storage"]
        if "purge" in area and _area_path(area)
    ]


def _area_path(area: Facts) -> str:
    """Return the path of an area, or the site's variable that contains it; empty if a placeholder is not filled in."""
    path = str(area.get("path") or area.get("variable") or "")
    return "" if "{" in path else path


def _name_area(cluster: Facts, name: str) -> str:
    """Return the path of the area with this name; the name if the path is not known."""
    return next((_area_path(area) for area in cluster["storage"] if area["name"] == name), "") or name


def _list_programs(present: Sequence[PlanEntry]) -> list[Options]:
    """Return the scripts that users start by name: those in folders that a role adds to PATH."""
    sections = [entry["options"] for entry in present if entry["kind"] == "shell_environment"]
    on_path = {folder for options in sections for name in ("path", "path_end") for folder in options.get(name) or ()}
    scripts = _list_paths(present, "path_script")
    return [script for script in scripts if posixpath.dirname(str(script["path"])) in on_path]


def _list_paths(entries: Sequence[PlanEntry], kind: str) -> list[Options]:
    return [{"path": entry["options"]["path"]} for entry in entries if entry["kind"] == kind]
