# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks that a small job makes on a compute node for one account, and their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from .._roles.site import UNWRITABLE, job_folder
from .._roles.table import SLURM_ACCOUNT, SLURM_CPU_ACCOUNT, default_path, key_files, resource

if TYPE_CHECKING:
    from .._documents.declaration import Note, PlanEntry
    from .._documents.outcome import ResourceOutcome

NAME = "test job"  # of its lines
FOLDER = ".hpc.onboard-test-job"
MINUTES = 5
Check = dict[str, Any]  # what, way, words, and how many of these are paths: module_utils/_slurm/slurm_test_job.py
NO_HOME = "jobs cannot read the home directory on this cluster"
NOT_HOME = "jobs cannot write to the home directory on this cluster"


class JobTestSettings(NamedTuple):
    """Settings of an account's jobs. image: empty if unset. home: the folder that replaces it in jobs, or empty."""

    gpu: bool
    image: str
    home: str


class SkippedCheck(NamedTuple):
    """A check that the job does not make, and why."""

    what: str
    why: str


class JobTest(NamedTuple):
    """The checks of an account's job, and the skipped ones with their reason."""

    checks: list[Check]
    skipped: list[SkippedCheck]


def plan_checks(cluster: Mapping[str, Any], declared: Sequence[PlanEntry], settings: JobTestSettings) -> JobTest:
    """Return the checks for an account. cluster: the profile. declared: the resources of all its roles."""
    there = [one for one in declared if one["options"].get("state", "present") == "present"]
    found = JobTest([], [])
    if cluster.get("home", {}).get("on_compute") in UNWRITABLE:
        found.skipped.append(SkippedCheck("~ is writable", NOT_HOME))
    else:
        found.checks.append(_check("~ is writable", "writes", "~", paths=1))
    for path in dict.fromkeys(_places(there)):
        found.checks.append(_check(f"{path} is writable", "writes", path, paths=1))
    for path in dict.fromkeys(_files_of_jobs(there)):
        found.checks.append(_check(f"{path} is readable", "reads", path, paths=1))
    _keys(cluster, there, settings, found)
    if any(one["kind"] == "shell_environment" for one in there) and not settings.home:
        found.checks.append(_check("the environment loads", "environment"))
    _network(cluster, there, found)
    _container(there, settings, found)
    if settings.gpu:
        found.checks.append(_check("a GPU is visible", "gpu"))
    return found


def plan_job(
    cluster: Mapping[str, Any], declared: Sequence[PlanEntry], checks: list[Check], settings: JobTestSettings
) -> list[Any]:
    """Return the plan: the resource that finds the Slurm account, as for the launcher, and the job."""
    scheduler = cluster.get("scheduler", {})
    asked = next((one["options"] for one in declared if one["kind"] == "scheduler"), {})
    least = scheduler.get("test", scheduler.get("cpu", ""))
    options = str(scheduler.get("gpu", "--gpus=1") if settings.gpu else least).split()
    options.append(f"--account={SLURM_ACCOUNT if settings.gpu else SLURM_CPU_ACCOUNT}")
    folder = f"{settings.home or job_folder(cluster) or '~'}/{FOLDER}"
    job = resource("slurm_test_job", folder=folder, checks=checks, options=options, minutes=MINUTES)
    return [{**one, "capability": NAME} for one in (resource("scheduler", **asked), job)]


def split_outcome(job: ResourceOutcome, examined: ResourceOutcome) -> list[ResourceOutcome]:
    """Return an outcome for each check. examined: the job after its end; its state has the results of the checks."""
    return [
        {
            **job,
            "identity": what,
            "status": "ok" if result == "yes" else "failed",
            "fields": [],
            "before": {"in a job": result},
            "after": {"in a job": "yes"},
            "reason": None if result == "yes" else result.removeprefix("no: "),
            "evidence": {},
            "was": {},
            "progress": None,
        }
        for what, result in examined["before"].items()
    ]


def skip_notes(skipped: Sequence[SkippedCheck]) -> list[Note]:
    """Return a note for each skipped check."""
    return [
        {"capability": NAME, "code": "not_here", "text": f"not tested: {check.what}: {check.why}"} for check in skipped
    ]


def _check(what: str, way: str, *words: str, paths: int = 0) -> Check:
    return {"what": what, "way": way, "words": list(words), "paths": paths}


def _places(there: Sequence[PlanEntry]) -> Iterator[str]:
    """Yield the folders that jobs write to: those in the site's areas, and those of the job scripts."""
    for one in there:
        if one["kind"] == "storage_link":
            yield str(one["options"]["target"])
        elif one["kind"] == "directory" and one["capability"] in ("storage_links", "job_scripts"):
            yield str(one["options"]["path"])


def _files_of_jobs(there: Sequence[PlanEntry]) -> Iterator[str]:
    """Yield the launcher, which job scripts call, and what they load Python environments with."""
    for one in there:
        if one["kind"] == "path_script" and one["capability"] == "launchers":
            yield str(one["options"]["path"])
        elif one["kind"] == "python_env":
            yield f"{one['options']['path']}/activate"


def _keys(cluster: Mapping[str, Any], there: Sequence[PlanEntry], settings: JobTestSettings, found: JobTest) -> None:
    """Add the files with keys. In a home that jobs cannot read, only those that jobs need."""
    kept = {
        str(one["options"].get("path") or default_path(one["kind"])): key_files()[one["kind"]]
        for one in there
        if one["kind"] in key_files() and one["options"].get("secret")
    }
    scripts = (str(one["options"]["path"]) for one in there if one["kind"] == "path_script")
    imports = not cluster.get("container", {}).get("on_login") or any(one.endswith("/import.sh") for one in scripts)
    for path, key in kept.items():
        is_of_jobs = key.in_jobs or (key.by_containers and imports)
        if settings.home and path.startswith("~") and not is_of_jobs:
            found.skipped.append(SkippedCheck(path, f"{NO_HOME}, and only login nodes use this key"))
        else:
            found.checks.append(_check(f"{path} exists and is private", "key", path, paths=1))


def _network(cluster: Mapping[str, Any], there: Sequence[PlanEntry], found: JobTest) -> None:
    """The registry that a key is for, or the proxy in its place."""
    hosts = [str(one["options"][name]) for one in there for name in ("machine", "registry") if one["options"].get(name)]
    compute = cluster.get("compute", {})
    proxy = urlsplit(str(compute.get("proxy") or cluster.get("proxies", {}).get("https", "")))
    if not hosts:
        return
    host = next((name for name in hosts if "." in name and not name.startswith("authn")), hosts[0]).split("/")[0]
    if "module" in compute:
        module = str(compute["module"])
        found.checks.append(_check(f"the proxy of the module {module} is reachable", "proxy_module", module))
    elif proxy.hostname:
        words = (proxy.hostname, str(proxy.port or 80))
        found.checks.append(_check(f"the proxy {proxy.hostname} is reachable", "reach", *words))
    elif compute.get("internet") == "none":
        found.skipped.append(SkippedCheck(host, "compute nodes have no Internet access"))
    else:
        found.checks.append(_check(f"{host} is reachable", "reach", host, "443"))


def _container(there: Sequence[PlanEntry], settings: JobTestSettings, found: JobTest) -> None:
    """The launcher with the image that it is told of, or else with the first one that is kept there."""
    script = next((one for one in there if one["kind"] == "path_script" and one["capability"] == "launchers"), None)
    if not script:
        return
    kept = (str(one["options"]["image"]) for one in there if one["kind"] == "container_image")
    image = settings.image or next(kept, "")
    if not image:
        found.skipped.append(SkippedCheck("a container", "no image is set (launchers: {image: …})"))
    else:
        words = (str(script["options"]["path"]), image)
        found.checks.append(_check(f"a container starts from {image}", "container", *words, paths=1))
