# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test job: a small job that checks the setup of one account on a compute node, and the results of its checks.

A role ("capability") declares resources of the account, such as links or files: each has a type ("kind") and options.
The outcome of a resource has a status, such as ok or failed, and states before and after. Jobs may use another home
than login nodes, and may be unable to read or write the usual one. The parameter present contains the resources that
the account shall have, cluster is the profile of its cluster, and a check is added to the parameter test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from .._roles.site import UNWRITABLE, job_folder
from .._roles.table import SLURM_ACCOUNT, SLURM_CPU_ACCOUNT, default_path, key_files, resource

if TYPE_CHECKING:
    from .._documents.declaration import Note, PlanEntry
    from .._documents.outcome import ResourceOutcome

NAME = "test job"  # in place of a role's name in results
FOLDER = ".hpc.onboard-test-job"
MINUTES = 5  # the time limit of the job
Check = dict[str, Any]
"""A check of the job, for module_utils/_slurm/slurm_test_job.py. The key what contains the title, way the kind of the
check, words the arguments, and paths the number of arguments that are paths (the first ones)."""
KEY_NOT_IN_JOBS = "only login nodes use this key, because jobs cannot read the home directory on this cluster"
HOME_READ_ONLY = "jobs cannot write to the home directory on this cluster"


class JobTestSettings(NamedTuple):
    """Settings of an account's jobs. gpu: request a GPU. image: of containers, or empty.

    home: the folder that replaces the home in jobs, or empty.
    """

    gpu: bool
    image: str
    home: str


class SkippedCheck(NamedTuple):
    """A check that the job does not make. what: the check's title. why: the reason."""

    what: str
    why: str


class JobTest(NamedTuple):
    """The checks of an account's job, and the skipped checks."""

    checks: list[Check]
    skipped: list[SkippedCheck]


def plan_checks(cluster: Mapping[str, Any], declared: Sequence[PlanEntry], settings: JobTestSettings) -> JobTest:
    """Return the checks for an account. declared: the resources of all its roles."""
    # without the resources that the settings remove
    present = [entry for entry in declared if entry["options"].get("state", "present") == "present"]
    test = JobTest([], [])
    if cluster.get("home", {}).get("on_compute") in UNWRITABLE:
        test.skipped.append(SkippedCheck("~ is writable", HOME_READ_ONLY))
    else:
        test.checks.append(_build_check("~ is writable", "writes", "~", paths=1))
    for path in dict.fromkeys(_list_output_folders(present)):
        test.checks.append(_build_check(f"{path} is writable", "writes", path, paths=1))
    for path in dict.fromkeys(_list_input_files(present)):
        test.checks.append(_build_check(f"{path} is readable", "reads", path, paths=1))
    _add_key_checks(cluster, present, settings, test)
    if any(entry["kind"] == "shell_environment" for entry in present) and not settings.home:  # the file is in the home
        test.checks.append(_build_check("the environment loads", "environment"))
    _add_network_check(cluster, present, test)
    _add_container_check(present, settings, test)
    if settings.gpu:
        test.checks.append(_build_check("a GPU is visible", "gpu"))
    return test


def plan_job(
    cluster: Mapping[str, Any], declared: Sequence[PlanEntry], checks: list[Check], settings: JobTestSettings
) -> list[Any]:
    """Return the plan of the test job: a query for the Slurm account of jobs, and the job.

    declared: the resources of all roles, with the options of this query for the launcher. checks: of plan_checks().
    """
    scheduler = cluster.get("scheduler", {})
    scheduler_options = next((entry["options"] for entry in declared if entry["kind"] == "scheduler"), {})
    smallest = scheduler.get("test", scheduler.get("cpu", ""))  # options of the smallest job without a GPU
    options = str(scheduler.get("gpu", "--gpus=1") if settings.gpu else smallest).split()
    # placeholders: the query on the account replaces them
    options.append(f"--account={SLURM_ACCOUNT if settings.gpu else SLURM_CPU_ACCOUNT}")
    folder = f"{settings.home or job_folder(cluster) or '~'}/{FOLDER}"
    job = resource("slurm_test_job", folder=folder, checks=checks, options=options, minutes=MINUTES)
    return [{**entry, "capability": NAME} for entry in (resource("scheduler", **scheduler_options), job)]


def split_outcome(job: ResourceOutcome, ended_job: ResourceOutcome) -> list[ResourceOutcome]:
    """Return an outcome for each check. job: the outcome of submitting the job. ended_job: of its later inspection.

    The state of ended_job contains the result of each check: yes, or no and a reason.
    """
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
        for what, result in ended_job["before"].items()
    ]


def describe_skipped(skipped: Sequence[SkippedCheck]) -> list[Note]:
    """Return a note, which is shown to the user, for each skipped check."""
    return [
        {"capability": NAME, "code": "not_here", "text": f"not tested: {check.what}: {check.why}"} for check in skipped
    ]


def _build_check(what: str, way: str, *words: str, paths: int = 0) -> Check:
    """Return a check as the job reads it. The parameters are the keys of Check."""
    return {"what": what, "way": way, "words": list(words), "paths": paths}


def _list_output_folders(present: Sequence[PlanEntry]) -> Iterator[str]:
    """Yield the folders that jobs write to: those in the site's areas, and those of the job scripts."""
    for entry in present:
        if entry["kind"] == "storage_link":
            yield str(entry["options"]["target"])
        elif entry["kind"] == "directory" and entry["capability"] in ("storage_links", "job_scripts"):
            yield str(entry["options"]["path"])


def _list_input_files(present: Sequence[PlanEntry]) -> Iterator[str]:
    """Yield the files that job scripts use: the launcher, and the activation files of Python environments."""
    for entry in present:
        if entry["kind"] == "path_script" and entry["capability"] == "launchers":
            yield str(entry["options"]["path"])
        elif entry["kind"] == "python_env":
            yield f"{entry['options']['path']}/activate"


def _add_key_checks(
    cluster: Mapping[str, Any], present: Sequence[PlanEntry], settings: JobTestSettings, test: JobTest
) -> None:
    """Add checks of the files with keys. If jobs cannot read the home, skip files in it that only login nodes use."""
    key_types = {  # path -> type of the file
        str(entry["options"].get("path") or default_path(entry["kind"])): key_files()[entry["kind"]]
        for entry in present
        if entry["kind"] in key_files() and entry["options"].get("secret")
    }
    scripts = (str(entry["options"]["path"]) for entry in present if entry["kind"] == "path_script")
    is_import_script_declared = any(path.endswith("/import.sh") for path in scripts)
    # by import.sh, or because login nodes have no container tool
    jobs_import_images = is_import_script_declared or not cluster.get("container", {}).get("on_login")
    for path, key_type in key_types.items():
        # in_jobs: programs in jobs read the file; by_containers: a tool that imports images reads it
        is_for_jobs = key_type.in_jobs or (key_type.by_containers and jobs_import_images)
        if settings.home and path.startswith("~") and not is_for_jobs:
            test.skipped.append(SkippedCheck(path, KEY_NOT_IN_JOBS))
        else:
            test.checks.append(_build_check(f"{path} exists and is private", "key", path, paths=1))


def _add_network_check(cluster: Mapping[str, Any], present: Sequence[PlanEntry], test: JobTest) -> None:
    """Add a check of the network, if the account has a key: of the proxy for jobs, or else of the key's registry."""
    names = ("machine", "registry")  # options of files with a key that contain a host
    hosts = [str(entry["options"][name]) for entry in present for name in names if entry["options"].get(name)]
    if not hosts:  # the account has no key that a job could use
        return
    compute = cluster.get("compute", {})
    proxy = urlsplit(str(compute.get("proxy") or cluster.get("proxies", {}).get("https", "")))
    # preferably a registry, not a server that only issues tokens for it, such as authn.nvidia.com
    address = next((name for name in hosts if "." in name and not name.startswith("authn")), hosts[0]).split("/")[0]
    if "module" in compute:
        module = str(compute["module"])
        test.checks.append(
            _build_check(f"the proxy that the module {module} sets is reachable", "proxy_module", module)
        )
    elif proxy.hostname:
        words = (proxy.hostname, str(proxy.port or 80))
        test.checks.append(_build_check(f"the proxy {proxy.hostname} is reachable", "reach", *words))
    elif compute.get("internet") == "none":
        test.skipped.append(SkippedCheck(address, "compute nodes have no Internet access"))
    else:
        host, _colon, port = address.partition(":")
        test.checks.append(_build_check(f"{address} is reachable", "reach", host, port or "443"))


def _add_container_check(present: Sequence[PlanEntry], settings: JobTestSettings, test: JobTest) -> None:
    """Add a check that the launcher starts a container: from the image in the settings, or the first declared one."""
    scripts = (entry for entry in present if entry["kind"] == "path_script" and entry["capability"] == "launchers")
    launcher = next(scripts, None)
    if not launcher:  # the site has no containers, or the role is skipped
        return
    declared = (str(entry["options"]["image"]) for entry in present if entry["kind"] == "container_image")
    image = settings.image or next(declared, "")
    if not image:
        test.skipped.append(SkippedCheck("a container", "no image is set; set `launchers: {image: ...}`"))
    else:
        words = (str(launcher["options"]["path"]), image)
        test.checks.append(_build_check(f"a container starts from {image}", "container", *words, paths=1))
