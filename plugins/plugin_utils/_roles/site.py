# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the roles that follow from a cluster's profile.

The parameter cluster is the profile (docs/schemas/cluster.schema.json); container, caches and areas are parts of it. A
root is the folder above another folder that must exist already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .job_request import nearest_offer, offered_gpus, split_site_options
from .table import Settings

DOCKER_LOGINS = "~/.apptainer/docker-config.json"
# container tools
STARTERS = ("apptainer", "singularity")  # can start a command in a job without Slurm's help
IMPORTERS = ("enroot", *STARTERS)  # can import images
CACHING = ("apptainer", "enroot")  # have a cache with variables of their own
# values of home: on_compute
UNREADABLE = ("ticket", "absent")  # jobs cannot read the home
UNWRITABLE = (*UNREADABLE, "ro")  # jobs cannot write to the home
FOR_USERS = ("per", "hard_bytes", "grace_days")  # fields of a storage area that no role needs
LIMITS = (  # fields of scheduler that limit job requests
    *("gpu_vendor", "gpus_per_node", "whole_nodes", "cpus_per_gpu", "memory_per_gpu", "memory_per_cpu"),
    *("partition_required", "partitions", "partition_hours", "qos_hours", "hours", "account_suffixes"),
    "gpu_nodes",
)
CONDA_FIELDS = ("policy", "why", "instead", "area", "below", "by_machine")  # have the same names in the role conda


def site_settings(cluster: Settings, project: str = "", account: str = "") -> dict[str, Any]:
    """Return the roles' settings that follow from a profile; the inventory gives them to each account.

    cluster: the profile. project, account: the user's project and Slurm account; empty if not set.
    """
    container, caches, links, conda = (cluster.get(part, {}) for part in ("container", "caches", "links", "conda"))
    slurm = _scheduler_settings(cluster, project, account)
    areas = [{key: area[key] for key in area if key not in FOR_USERS} for area in cluster.get("storage", [])]
    tools = container_tools(container)
    # Singularity reads the same variables as Apptainer, but keeps its logins in a file of its own.
    caching_tool = next((name for name in tools if name in CACHING), "apptainer" if "singularity" in tools else "none")
    return {
        "storage_links_areas": areas,
        "storage_links_by": links.get("by", "us"),
        "storage_links_why": links.get("why", ""),
        "enroot_credentials_path": container.get("credentials", ""),
        "enroot_credentials_runtime": "enroot" if "enroot" in tools else "none",
        "registry_auth_runtime": "apptainer" if "apptainer" in tools else "none",
        "container_caches_runtime": caching_tool,
        "container_caches_folder": caches.get("path", ""),
        "container_caches_root": caches.get("root", ""),
        "container_caches_why": caches.get("why_not", ""),
        **{f"launchers_{name}": value for name, value in _launcher_settings(cluster).items()},
        **{f"job_scripts_{name}": value for name, value in _script_settings(cluster).items()},
        **{f"python_envs_{name}": value for name, value in _python_settings(cluster, areas).items()},
        **{f"{role}_{name}": value for role in ("launchers", "job_scripts") for name, value in slurm.items()},
        **{f"container_images_{name}": value for name, value in _image_settings(cluster, project, account).items()},
        **{f"tool_caches_{name}": value for name, value in _cache_settings(caches, areas).items()},
        "conda_wanted": conda.get("usual", False),  # usual: the site tells all users to install conda
        "conda_distribution": conda.get("distribution", "miniforge"),
        "conda_site": {**{name: conda[name] for name in CONDA_FIELDS if name in conda}, "storage": areas},
        "conda_proxies": cluster.get("proxies", {}),
    }


def container_tools(container: Settings) -> list[str]:
    """Return the container tools of a site, preferred ones first."""
    return [container.get("runtime", "none"), *container.get("further", [])]


def preferred_tool(container: Settings, tools: Iterable[str]) -> str:
    """Return the site's preferred container tool among these tools, or "none"."""
    return next((name for name in container_tools(container) if name in tools), "none")


def _cache_settings(caches: Settings, areas: Iterable[Settings]) -> dict[str, str]:
    """Return the folder for the caches of all tools, and its root; both are empty without an area outside the home."""
    area = next((area for area in areas if area["name"] == caches.get("off_home") and "path" in area), None)
    if not area:
        return {"folder": "", "root": ""}
    return {"folder": f"{area['path']}/caches", "root": area["root"] if area.get("create") else area["path"]}


def _python_settings(cluster: Settings, areas: Iterable[Settings]) -> dict[str, Any]:
    """Return the sources and the folder of Python environments: conda's area if it is not purged, else the home.

    If jobs cannot read the home, an area that they can write to is used in its place.
    """
    wheels, conda = cluster.get("wheels", {}), cluster.get("conda", {})
    area: Settings = next((area for area in areas if area["name"] == conda.get("area") and "path" in area), {})
    if area and "purge" not in area:
        folder = "/".join(str(part) for part in (area["path"], conda.get("below"), "envs") if part)
        root = area.get("root") if area.get("create") else area.get("path")
    else:
        root = _home_for_jobs(cluster)
        folder = f"{root}/envs"
    offline = wheels.get("no_index", False)
    return {
        "folder": folder,
        "root": root,
        "offline": offline,
        "maker": "virtualenv" if offline else "any",  # any: uv or venv
        "search": wheels.get("search", ""),
        "index": cluster.get("mirrors", {}).get("pypi", ""),
        # for a script that creates the environment again on the local disk of a job's node
        "in_job": cluster.get("compute", {}).get("tmp", "") if offline else "",
        "proxies": cluster.get("proxies", {}),
    }


def _script_settings(cluster: Settings) -> dict[str, Any]:
    """Return the settings of job scripts: some of the launcher's, and a folder that jobs can read and write.

    gpus: all GPUs of a node if jobs get whole nodes, else at most 2. nodes: at most 2.
    """
    launcher, compute = _launcher_settings(cluster), cluster.get("compute", {})
    shared = ("scheduler", "site", "runtime", "module", "image", "images", "mounts", "home_in_jobs")
    gpu_type = split_site_options(launcher["gpu"]).gpu_type
    folder = job_folder(cluster)
    gpus = max(offered_gpus(launcher), default=2) if launcher["limits"].get("whole_nodes") else 2
    return {
        **{name: launcher[name] for name in (*shared, "gpu", "cpu", "limits", "proxy", "proxy_module")},
        "gpus": nearest_offer(launcher, gpus),
        "nodes": min(2, launcher["limits"].get("gpu_nodes", {}).get(gpu_type, 2)),
        "folder": f"{folder}/jobs" if folder else "",
        "root": _area_root(cluster, folder),
        "importer": preferred_tool(cluster.get("container", {}), IMPORTERS),
        "login": cluster.get("login", {}).get("host", ""),
        "internet": compute.get("internet", ""),
        "nccl": compute.get("nccl", {}),
        "tmp": compute.get("tmp", ""),
    }


def _area_root(cluster: Settings, folder: str) -> str:
    """Return the folder that must exist already, because only the site can create it; "~" for the home.

    folder: the home or a storage area.
    """
    area: Settings = next((area for area in cluster.get("storage", []) if folder and area.get("path") == folder), {})
    return str((area.get("root") if area.get("create") else folder) or "~")


def _limits(cluster: Settings) -> dict[str, Any]:
    """Return the limits of jobs in the profile; partitions: those for all users and those for members."""
    scheduler = cluster.get("scheduler", {})
    names = [*scheduler.get("partitions", []), *scheduler.get("member_partitions", [])]
    return {name: scheduler[name] for name in LIMITS if name in scheduler} | ({"partitions": names} if names else {})


def job_folder(cluster: Settings) -> str:
    """Return the home if jobs can write to it, else the first storage area that jobs can write to, or ""."""
    if cluster.get("home", {}).get("on_compute") not in UNWRITABLE:
        return "~"
    areas = (area["path"] for area in cluster.get("storage", []) if area.get("on_compute") == "rw" and "path" in area)
    return next(areas, "")


def _home_for_jobs(cluster: Settings) -> str:
    """Return the home, or the area in its place if jobs cannot read the home."""
    return (job_folder(cluster) if cluster.get("home", {}).get("on_compute") in UNREADABLE else "") or "~"


def _scheduler_settings(cluster: Settings, project: str, account: str) -> dict[str, Any]:
    """Return the settings about the Slurm account. The cluster is queried later if no account is chosen.

    project, account: the user's project and Slurm account; empty if not set.
    """
    scheduler = cluster.get("scheduler", {})
    return {
        "account": account,
        # some sites name Slurm accounts after projects
        "likely_account": project if scheduler.get("account") == "project" else "",
        "account_required": scheduler.get("account_required", False),
    }


def _launcher_settings(cluster: Settings) -> dict[str, Any]:
    """Return the settings of usrun.sh: how the site starts a job."""
    container, scheduler = cluster.get("container", {}), cluster.get("scheduler", {})
    launcher: Settings = next(iter(cluster.get("launchers", [])), {})
    home = _home_for_jobs(cluster)
    request = {"gpu": scheduler.get("gpu", "--gpus=1"), "cpu": scheduler.get("cpu", ""), "limits": _limits(cluster)}
    return {
        **request,
        "folder": f"{home}/bin",
        "root": _area_root(cluster, home),
        "gpus": nearest_offer(request, number=1),
        "name": launcher.get("name", "usrun.sh"),
        "scheduler": scheduler.get("kind", "none"),
        "site": cluster.get("name", ""),
        # in_jobs: pyxis or environment, if Slurm itself starts containers
        "runtime": container.get("in_jobs") or preferred_tool(container, STARTERS),
        "module": container.get("module", ""),
        "image": launcher.get("image", ""),
        "images": _image_folder(cluster),
        "mounts": launcher.get("mounts", []),
        "minutes": launcher.get("minutes", 60),
        "accounts_command": scheduler.get("accounts_command", ""),
        "home_in_jobs": "" if home == "~" else home,
        "proxy": cluster.get("compute", {}).get("proxy", ""),
        "proxy_module": cluster.get("compute", {}).get("module", ""),
    }


def _image_settings(cluster: Settings, project: str, account: str) -> dict[str, Any]:
    """Return the settings of container images: their folder and how they are imported.

    If the container tool is not installed on login nodes, a job without GPUs imports them. project, account: the user's
    project and Slurm account; empty if not set.
    """
    container, scheduler, caches = (cluster.get(part, {}) for part in ("container", "scheduler", "caches"))
    runtime = preferred_tool(container, IMPORTERS)
    launcher: Settings = next(iter(cluster.get("launchers", [])), {})
    return {
        "runtime": runtime,
        "module": container.get("module", ""),
        "folder": _image_folder(cluster),
        "root": caches.get("root", ""),
        "credentials": container.get("credentials", "") if runtime == "enroot" else DOCKER_LOGINS,
        # if the profile does not say: only enroot is assumed to be missing on login nodes
        "by": "login" if container.get("on_login", runtime != "enroot") else "job",
        "scheduler": scheduler.get("kind", "none"),
        "job_options": scheduler.get("cpu", ""),
        "site": cluster.get("name", ""),
        "limits": _limits(cluster),
        "account": account or (project if scheduler.get("account") == "project" else ""),
        "site_images": container.get("images", ""),
        # folder of the EDF files by which jobs at CSCS refer to images
        "edf": "~/.edf" if container.get("in_jobs") == "environment" else "",
        "mounts": launcher.get("mounts", []),
    }


def _image_folder(cluster: Settings) -> str:
    """Return the folder for images, next to the folder for caches; empty if the profile names no such folder."""
    parent = str(cluster.get("caches", {}).get("path", "")).rpartition("/")[0]
    return f"{parent}/images" if parent else ""
