# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from a cluster's profile for the settings of the roles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .job_request import nearest_offer, offered_gpus, split_site_options
from .table import Settings

DOCKER_LOGINS = "~/.apptainer/docker-config.json"
STARTING = ("apptainer", "singularity")  # container tools that start a command in a job themselves
IMPORTING = ("enroot", *STARTING)  # those with which images are imported
CACHING = ("apptainer", "enroot")  # container tools with a cache of the user's
UNREADABLE = ("ticket", "absent")  # homes that jobs cannot read, by their on_compute
UNWRITABLE = (*UNREADABLE, "ro")
FOR_PEOPLE = ("per", "hard_bytes", "grace_days")  # facts of an area that no role has a setting for
LIMITS = (  # what a profile says of scheduler, and a job request heeds
    *("gpu_vendor", "gpus_per_node", "whole_nodes", "cpus_per_gpu", "memory_per_gpu", "memory_per_cpu"),
    *("partition_required", "partitions", "partition_hours", "qos_hours", "hours", "account_suffixes"),
    "gpu_nodes",
)
OF_CONDA = ("policy", "why", "instead", "area", "below", "by_machine")  # what a profile says of it, as the role has it


def site_settings(cluster: Settings, project: str = "", account: str = "") -> dict[str, Any]:
    """The roles' settings that follow from a cluster's profile, as the inventory gives them to an account.

    account: the Slurm account that the person has chosen, or empty.
    """
    container, caches, links, conda = (cluster.get(part, {}) for part in ("container", "caches", "links", "conda"))
    slurm = _scheduler_settings(cluster, project, account)
    areas = [{key: value for key, value in one.items() if key not in FOR_PEOPLE} for one in cluster.get("storage", [])]
    there = container_tools(container)
    # Singularity reads the same variables as Apptainer, but keeps its logins in a file of its own.
    caching = next((name for name in there if name in CACHING), "apptainer" if "singularity" in there else "none")
    return {
        "storage_links_areas": areas,
        "storage_links_by": links.get("by", "us"),
        "storage_links_why": links.get("why", ""),
        "enroot_credentials_path": container.get("credentials", ""),
        "enroot_credentials_runtime": "enroot" if "enroot" in there else "none",
        "registry_auth_runtime": "apptainer" if "apptainer" in there else "none",
        "container_caches_runtime": caching,
        "container_caches_folder": caches.get("path", ""),
        "container_caches_root": caches.get("root", ""),
        "container_caches_why": caches.get("why_not", ""),
        **{f"launchers_{name}": value for name, value in _launcher_settings(cluster).items()},
        **{f"job_scripts_{name}": value for name, value in _script_settings(cluster).items()},
        **{f"python_envs_{name}": value for name, value in _python_settings(cluster, areas).items()},
        **{f"{role}_{name}": value for role in ("launchers", "job_scripts") for name, value in slurm.items()},
        **{f"container_images_{name}": value for name, value in _image_settings(cluster, project).items()},
        **{f"tool_caches_{name}": value for name, value in _cache_settings(caches, areas).items()},
        "conda_wanted": conda.get("usual", False),
        "conda_distribution": conda.get("distribution", "miniforge"),
        "conda_site": {
            **{name: conda[name] for name in OF_CONDA if name in conda},
            "storage": areas,
        },
        "conda_proxies": cluster.get("proxies", {}),
    }


def container_tools(container: Settings) -> list[str]:
    """Return the container tools of a site, best first."""
    return [container.get("runtime", "none"), *container.get("further", [])]


def first_of(container: Settings, tools: Iterable[str]) -> str:
    """Return the best container tool of a site that is among these, or none."""
    return next((name for name in container_tools(container) if name in tools), "none")


def _cache_settings(caches: Settings, areas: Iterable[Settings]) -> dict[str, str]:
    """Return where the site wants the caches of all tools, where it says so and the place is known."""
    area = next((one for one in areas if one["name"] == caches.get("off_home") and "path" in one), None)
    if not area:
        return {"folder": "", "root": ""}
    return {"folder": f"{area['path']}/caches", "root": area["root"] if area.get("create") else area["path"]}


def _python_settings(cluster: Settings, areas: Iterable[Settings]) -> dict[str, Any]:
    """Where Python environments come from here, and where they go: beside conda where that has an area that lasts."""
    wheels, conda = cluster.get("wheels", {}), cluster.get("conda", {})
    area = next((one for one in areas if one["name"] == conda.get("area") and "path" in one), {"purge": True})
    inside = (
        "" if "purge" in area else "/".join(str(part) for part in (area["path"], conda.get("below"), "envs") if part)
    )
    root = area.get("root") if area.get("create") else area.get("path")
    offline = wheels.get("no_index", False)
    is_unreadable = cluster.get("home", {}).get("on_compute") in UNREADABLE
    home = (job_folder(cluster) if is_unreadable else "") or "~"
    return {
        "folder": inside or f"{home}/envs",
        "root": root if inside else home,
        "offline": offline,
        "maker": "virtualenv" if offline else "any",
        "search": wheels.get("search", ""),
        "index": cluster.get("mirrors", {}).get("pypi", ""),
        "in_job": cluster.get("compute", {}).get("tmp", "") if offline else "",
        "proxies": cluster.get("proxies", {}),
    }


def _script_settings(cluster: Settings) -> dict[str, Any]:
    """Return what scripts of jobs take from the site: as the launcher, and where a job can read and write.

    Several GPUs are all of a node where jobs get whole ones, else up to two; several nodes are up to two.
    """
    launcher, compute = _launcher_settings(cluster), cluster.get("compute", {})
    said = ("scheduler", "site", "runtime", "module", "image", "images", "mounts", "home_in_jobs")
    gpu_type = split_site_options(launcher["gpu"]).gpu_type
    place = job_folder(cluster)
    several = max(offered_gpus(launcher), default=2) if launcher["limits"].get("whole_nodes") else 2
    return {
        **{name: launcher[name] for name in (*said, "gpu", "cpu", "limits", "proxy", "proxy_module")},
        "gpus": nearest_offer(launcher, several),
        "nodes": min(2, launcher["limits"].get("gpu_nodes", {}).get(gpu_type, 2)),
        "folder": f"{place}/jobs" if place else "",
        "root": _area_root(cluster, place),
        "importer": first_of(cluster.get("container", {}), IMPORTING),
        "login": cluster.get("login", {}).get("host", ""),
        "internet": compute.get("internet", ""),
        "nccl": compute.get("nccl", {}),
        "tmp": compute.get("tmp", ""),
    }


def _area_root(cluster: Settings, place: str) -> str:
    """Return the folder above a place that only the site can create."""
    area: Settings = next((one for one in cluster.get("storage", []) if place and one.get("path") == place), {})
    return str((area.get("root") if area.get("create") else place) or "~")


def _limits(cluster: Settings) -> dict[str, Any]:
    """Return what a site offers and asks of jobs, as far as its profile says it."""
    scheduler = cluster.get("scheduler", {})
    known = [*scheduler.get("partitions", []), *scheduler.get("member_partitions", [])]
    return {name: scheduler[name] for name in LIMITS if name in scheduler} | ({"partitions": known} if known else {})


def job_folder(cluster: Settings) -> str:
    """Return where jobs can read and write: the home, else the first area where they can; empty where none is known."""
    if cluster.get("home", {}).get("on_compute") not in UNWRITABLE:
        return "~"
    areas = (one["path"] for one in cluster.get("storage", []) if one.get("on_compute") == "rw" and "path" in one)
    return next(areas, "")


def _scheduler_settings(cluster: Settings, project: str, account: str) -> dict[str, Any]:
    """Return what a role that names a Slurm account goes by: it is found on the cluster, in the same trip."""
    scheduler = cluster.get("scheduler", {})
    return {
        "account": account,
        "likely_account": project if scheduler.get("account") == "project" else "",
        "account_required": scheduler.get("account_required", False),
    }


def _launcher_settings(cluster: Settings) -> dict[str, Any]:
    """Return how a job is started here, as usrun.sh needs it."""
    container, scheduler = cluster.get("container", {}), cluster.get("scheduler", {})
    usual: Settings = next(iter(cluster.get("launchers", [])), {})
    is_unreadable = cluster.get("home", {}).get("on_compute") in UNREADABLE
    home = (job_folder(cluster) if is_unreadable else "") or "~"
    request = {"gpu": scheduler.get("gpu", "--gpus=1"), "cpu": scheduler.get("cpu", ""), "limits": _limits(cluster)}
    return {
        **request,
        "folder": f"{home}/bin",
        "root": _area_root(cluster, home),
        "gpus": nearest_offer(request, 1),
        "name": usual.get("name", "usrun.sh"),
        "scheduler": scheduler.get("kind", "none"),
        "site": cluster.get("name", ""),
        "runtime": container.get("in_jobs") or first_of(container, STARTING),
        "module": container.get("module", ""),
        "image": usual.get("image", ""),
        "images": _image_folder(cluster),
        "mounts": usual.get("mounts", []),
        "minutes": usual.get("minutes", 60),
        "accounts_command": scheduler.get("accounts_command", ""),
        "home_in_jobs": job_folder(cluster) if is_unreadable else "",
        "proxy": cluster.get("compute", {}).get("proxy", ""),
        "proxy_module": cluster.get("compute", {}).get("module", ""),
    }


def _image_settings(cluster: Settings, project: str) -> dict[str, Any]:
    """Return where images lie, beside the caches of their tool, and what imports them.

    A job does where that tool is on nodes only; it asks for what one without a GPU does.
    """
    container, scheduler, caches = (cluster.get(part, {}) for part in ("container", "scheduler", "caches"))
    runtime = first_of(container, IMPORTING)
    usual: Settings = next(iter(cluster.get("launchers", [])), {})
    return {
        "runtime": runtime,
        "module": container.get("module", ""),
        "folder": _image_folder(cluster),
        "root": caches.get("root", ""),
        "credentials": container.get("credentials", "") if runtime == "enroot" else DOCKER_LOGINS,
        "by": "login" if container.get("on_login", runtime != "enroot") else "job",
        "scheduler": scheduler.get("kind", "none"),
        "job_options": scheduler.get("cpu", ""),
        "site": cluster.get("name", ""),
        "limits": _limits(cluster),
        "account": project if scheduler.get("account") == "project" else "",
        "site_images": container.get("images", ""),
        "edf": "~/.edf" if container.get("in_jobs") == "environment" else "",
        "mounts": usual.get("mounts", []),
    }


def _image_folder(cluster: Settings) -> str:
    """The folder for images, beside the caches of their tool; empty where the site names none."""
    place = str(cluster.get("caches", {}).get("path", "")).rpartition("/")[0]
    return f"{place}/images" if place else ""
