# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a small job tries on a compute node of one account, and what came of it: from what is declared for it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from .._capabilities.parts.site import place_of_jobs
from .._capabilities.table import keys, resource, usual_path

if TYPE_CHECKING:
    from .._documents.declaration import Note, PlanEntry
    from .._documents.outcome import Outcome

NAME = "try"  # what its lines are called
FOLDER = ".hpc.onboard-try"
MINUTES = 5
Check = dict[str, Any]  # what, way, words, and how many of these are paths: module_utils/_jobs/try_job.py
NO_HOME = "jobs cannot read the home here"


class Wishes(NamedTuple):
    """Of an account's jobs. image: empty where none is named. home: the folder that stands for it in jobs, or empty."""

    gpu: bool
    image: str
    home: str


class Untried(NamedTuple):
    """What a job does not try, and why."""

    what: str
    why: str


class Trial(NamedTuple):
    """The checks of an account's job, and what is not tried, with the reason."""

    checks: list[Check]
    untried: list[Untried]


def trial(cluster: Mapping[str, Any], declared: Sequence[PlanEntry], wishes: Wishes) -> Trial:
    """What a job tries. cluster: the profile. declared: by all roles of the account."""
    there = [one for one in declared if one["options"].get("state", "present") == "present"]
    found = Trial([], [])
    if wishes.home:
        found.untried.append(Untried("~", NO_HOME))
    else:
        found.checks.append(_check("~ can be written", "writes", "~", paths=1))
    for path in dict.fromkeys(_places(there)):
        found.checks.append(_check(f"{path} can be written", "writes", path, paths=1))
    for path in dict.fromkeys(_key_files(there)):
        if wishes.home and path.startswith("~"):
            found.untried.append(Untried(path, NO_HOME))
        else:
            found.checks.append(_check(f"{path} is found, for you alone", "key", path, paths=1))
    if any(one["kind"] == "shell_environment" for one in there) and not wishes.home:
        found.checks.append(_check("the environment loads", "environment"))
    _network(cluster, there, found)
    _container(there, wishes, found)
    if wishes.gpu:
        found.checks.append(_check("a GPU is seen", "gpu"))
    return found


def entries(
    cluster: Mapping[str, Any], declared: Sequence[PlanEntry], checks: list[Check], wishes: Wishes
) -> list[Any]:
    """The plan: the question for the Slurm account, as the launcher asks it, and the job."""
    scheduler = cluster.get("scheduler", {})
    asked = next((one["options"] for one in declared if one["kind"] == "scheduler"), {})
    least = scheduler.get("test", scheduler.get("cpu", ""))
    options = str(scheduler.get("gpu", "--gpus=1") if wishes.gpu else least).split()
    folder = f"{wishes.home or place_of_jobs(cluster) or '~'}/{FOLDER}"
    job = resource("try_job", folder=folder, checks=checks, options=options, minutes=MINUTES)
    return [{**one, "capability": NAME} for one in (resource("scheduler", **asked), job)]


def results(job: Outcome, told: Outcome) -> list[Outcome]:
    """An outcome for each check. told: the look at the job that has ended; what it says is in the state."""
    return [
        {
            **job,
            "identity": what,
            "status": "in_place" if said == "yes" else "failed",
            "fields": [],
            "before": {"in a job": said},
            "after": {"in a job": "yes"},
            "reason": None if said == "yes" else said.removeprefix("no: "),
            "evidence": {},
            "was": {},
            "progress": None,
        }
        for what, said in told["before"].items()
    ]


def notes(untried: Sequence[Untried]) -> list[Note]:
    """What is not tried, as the console tells what is left out."""
    return [{"capability": NAME, "code": "not_here", "text": f"not tried: {one.what}: {one.why}"} for one in untried]


def _check(what: str, way: str, *words: str, paths: int = 0) -> Check:
    return {"what": what, "way": way, "words": list(words), "paths": paths}


def _places(there: Sequence[PlanEntry]) -> Iterator[str]:
    """The folders of the account's own in the site's areas, and where its links lead."""
    for one in there:
        if one["kind"] == "storage_link":
            yield str(one["options"]["target"])
        elif one["kind"] == "directory" and one["capability"] == "storage_links":
            yield str(one["options"]["path"])


def _key_files(there: Sequence[PlanEntry]) -> Iterator[str]:
    for one in there:
        if one["kind"] in keys() and one["options"].get("secret"):
            yield str(one["options"].get("path") or usual_path(one["kind"]))


def _network(cluster: Mapping[str, Any], there: Sequence[PlanEntry], found: Trial) -> None:
    """The registry that a key is for, or the proxy in its place."""
    hosts = [str(one["options"][name]) for one in there for name in ("machine", "registry") if one["options"].get(name)]
    compute = cluster.get("compute", {})
    proxy = urlsplit(str(compute.get("proxy") or cluster.get("proxies", {}).get("https", "")))
    if not hosts:
        return
    host = next((name for name in hosts if "." in name and not name.startswith("authn")), hosts[0]).split("/")[0]
    if "module" in compute:
        module = str(compute["module"])
        found.checks.append(_check(f"the proxy of the module {module} is reached", "proxy_module", module))
    elif proxy.hostname:
        words = (proxy.hostname, str(proxy.port or 80))
        found.checks.append(_check(f"the proxy {proxy.hostname} is reached", "reach", *words))
    elif compute.get("internet") == "none":
        found.untried.append(Untried(host, "compute nodes have no Internet here"))
    else:
        found.checks.append(_check(f"{host} is reached", "reach", host, "443"))


def _container(there: Sequence[PlanEntry], wishes: Wishes, found: Trial) -> None:
    """The launcher with the image that it is told of, or else with the first one that is kept there."""
    script = next((one for one in there if one["kind"] == "path_script" and one["capability"] == "launchers"), None)
    if not script:
        return
    kept = (str(one["options"]["image"]) for one in there if one["kind"] == "container_image")
    image = wishes.image or next(kept, "")
    if not image:
        found.untried.append(Untried("a container", "no image is named (launchers: {image: …})"))
    elif wishes.home:
        found.untried.append(Untried("a container", f"usrun.sh lies in the home, and {NO_HOME}"))
    else:
        words = (str(script["options"]["path"]), image)
        found.checks.append(_check(f"a container starts from {image}", "container", *words, paths=1))
