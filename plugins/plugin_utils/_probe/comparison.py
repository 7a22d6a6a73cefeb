# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison of a profile's site facts with the observations of an account: agrees, differs or not visible.

A profile describes a cluster, and a fact is one value in it, such as storage.work.path. A fact differs only if the
account shows for certain that the profile is wrong. What may depend on the account is not visible: a storage area that
the account may not use, a larger allocation, or a module that is not loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._roles.job_request import split_site_options
from .observations import LEAST_HOURS, insert_user

if TYPE_CHECKING:
    from .._documents.probe import Comparison, ProbedFact
    from .._documents.result import JobCheckResult
    from .observations import Observations

TOLERANCE = 0.1  # of a quota: sites round, and use GiB for GB
SAME_HOURS = 0.02  # profiles round the hours of a partition
SINFO, TEST_JOB = "sinfo -a -h -o '%R|%G|%D|%l'", "hpc-onboard test-job"  # commands that show a user the facts
Profile = Mapping[str, Any]


def compare(profile: Profile, observations: Observations, user: str) -> list[ProbedFact]:
    """Return the comparison of all facts that an account can show.

    profile: filled in for the user's account. user: the user name, which is a part of some paths.
    """
    scheduler = profile.get("scheduler", {})
    return [
        *_compare_machine(profile, observations),
        *_compare_home(profile, observations, user),
        *_compare_areas(profile, observations),
        *_compare_quotas(profile, observations),
        *_compare_container(profile, observations),
        *(_compare_slurm(scheduler, observations) if scheduler.get("kind") == "slurm" else ()),
    ]


def compare_jobs(profile: Profile, jobs: Sequence[JobCheckResult]) -> list[ProbedFact]:
    """Return the comparison of the facts that only a job can show. jobs: the results of a test job's checks."""
    works = {check["what"]: check["works"] for check in jobs}  # by the titles that test_job.plan_checks() sets
    places = [("home", profile["home"], "~")]  # name of the fact, its part of the profile, path
    places += [(f"storage.{area['name']}", area, area.get("path", "")) for area in profile.get("storage", ())]
    facts = []
    for fact, place, path in places:
        title = f"{path} is writable"
        if "on_compute" in place and title in works:
            expected, is_writable = place["on_compute"], works[title]  # "rw" (read and write), or less
            facts.append(_compare_fact(f"{fact}.on_compute", expected, "writable" if is_writable else "not writable",
                                       TEST_JOB, agrees=(expected == "rw") == is_writable))  # fmt: skip
    network_results = [check["works"] for check in jobs if check["way"] == "reach"]  # connections from a job
    internet = profile.get("compute", {}).get("internet")
    if internet and network_results:
        is_reachable = any(network_results)
        facts.append(_compare_fact("compute.internet", internet, "reachable" if is_reachable else "not reachable",
                                   TEST_JOB, agrees=(internet != "none") == is_reachable))  # fmt: skip
    return facts


def _compare_fact(
    fact: str, expected: Any, observed: Any, command: str, *, agrees: bool | None = None, value: Any = None
) -> ProbedFact:
    """Return the comparison of one fact. fact: its name. expected: its value in the profile.

    observed, command: the account's value, and how a user can see it. agrees: None if the account does not show the
    fact. value: the correct value for the profile, if it is certain.
    """
    result: Comparison = "not visible" if agrees is None else "agrees" if agrees else "differs"
    row: ProbedFact = {
        "fact": fact,
        "result": result,
        "says": _format(expected),
        "seen": _format(observed),
        "by": command,
    }
    return {**row, "value": value} if value is not None and result == "differs" else row


def _format(value: Any) -> str:
    """Return a value as text for users: yes, no, a number, or lists with commas."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_format(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_format, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _compare_machine(profile: Profile, observations: Observations) -> Iterator[ProbedFact]:
    """Yield the comparisons of the architecture and the operating system."""
    observed_arch, architectures = observations.text("arch"), profile.get("arch", [])
    if observed_arch and architectures:
        complete_list = [*architectures, observed_arch]  # a cluster may have nodes of several architectures
        yield _compare_fact("arch", architectures, observed_arch, "uname -m",
                            agrees=observed_arch in architectures, value=complete_list)  # fmt: skip
    system = observations.text("os")
    if profile.get("os") and system:
        expected, observed = _parse_system(profile["os"]), _parse_system(system)
        agrees_or_none = expected == observed if expected and observed else None
        yield _compare_fact("os", profile["os"], system, "/etc/os-release", agrees=agrees_or_none, value=system)


def _parse_system(text: str) -> tuple[str, str] | None:
    """Return the first word and the major version of an operating system's name; None without a version.

    >>> _parse_system("Rocky Linux 9.6 (Blue Onyx)")
    ('rocky', '9')
    """
    number = re.search(r"[0-9]+", text)
    return (text.split()[0].lower(), number[0]) if number else None


def _compare_home(profile: Profile, observations: Observations, user: str) -> Iterator[ProbedFact]:
    """Yield the comparison of the home's path. The profile may also contain the path after links are resolved."""
    expected, home = profile["home"].get("path"), observations.text("home")
    if expected and home:
        path_of_all = insert_user(home, user)
        pattern = path_of_all if path_of_all != home else None  # a path for all users of the cluster
        agrees = expected in (home, observations.text("home folder"))  # "home folder": after links are resolved
        yield _compare_fact("home.path", expected, home, "getent passwd", agrees=agrees, value=pattern)


def _compare_areas(profile: Profile, observations: Observations) -> Iterator[ProbedFact]:
    """Yield the comparisons of areas, of the launchers' images, and of the folder with the site's images."""
    for area in profile.get("storage", ()):
        fact, name = f"storage.{area['name']}", area["name"]
        if variable := area.get("variable"):
            bare_name = variable.removeprefix("$")
            value = observations.text(f"variable {bare_name}")
            yield _compare_fact(f"{fact}.variable", variable, value or "the variable is not set in a login shell",
                                f"printenv {bare_name}", agrees=True if value else None)  # fmt: skip
        path = area.get("path")
        if not path or "{" in path or path.startswith("$"):  # a project or variable is not set: the path is unknown
            continue
        # root: the folder that the site created; users create their own folders in some areas
        folder, root = observations.area(name), observations.area(f"{name} root")
        if folder.kind in ("", "folder"):  # "": the path could not be inspected
            yield _compare_fact(f"{fact}.path", path, folder.kind or "the path could not be read", f"ls -d {path}",
                                agrees=True if folder.kind else None)  # fmt: skip
        elif root.kind == "folder":  # this account may have no access, or has to create the folder
            yield _compare_fact(f"{fact}.path", path, "not found", f"ls -d {path}")
        else:  # no account can have its folder there
            yield _compare_fact(f"{fact}.path", path, f"{root.path} not found", f"ls -d {root.path}", agrees=False)
    for number, launcher in enumerate(profile.get("launchers", ())):
        image = observations.area(f"launcher {number}")
        if launcher.get("image") and image.kind:
            yield _compare_fact(f"launchers.{launcher['name']}.image", launcher["image"], image.kind,
                                f"ls {launcher['image']}", agrees=image.kind == "file")  # fmt: skip
    images, kind = profile.get("container", {}).get("images"), observations.area("images").kind
    if images and kind:
        yield _compare_fact("container.images", images, kind, f"ls -d {images}", agrees=kind == "folder")


def _compare_quotas(profile: Profile, observations: Observations) -> Iterator[ProbedFact]:
    """Yield the comparisons of the quota command, and of the limits of home and areas. A higher limit agrees, too."""
    command = profile.get("quota_command", "")
    if command:
        program = command.split()[0]
        program_path = observations.text(f"program {program}")
        yield _compare_fact("quota_command", command, program_path or "not found", f"command -v {program}",
                            agrees=True if program_path else None)  # fmt: skip
    places = [("home", profile["home"], observations.text("home"))]  # name of the fact, its part of the profile, path
    areas = profile.get("storage", ())
    places += [(f"storage.{area['name']}", area, observations.area(area["name"]).path) for area in areas]
    for fact, limits, path in places:
        for unit in ("bytes", "files"):
            limit = observations.find_quota(unit, fact.rpartition(".")[2], path)  # storage.NAME or home
            if unit in limits and limit:
                expected = limits[unit]
                yield _compare_fact(f"{fact}.{unit}", expected, limit, command or "quota -s -w",
                                    agrees=limit >= expected * (1 - TOLERANCE), value=limit)  # fmt: skip


def _compare_container(profile: Profile, observations: Observations) -> Iterator[ProbedFact]:
    """Yield the comparisons of the container runtime: its module, and its presence on login nodes."""
    container = profile.get("container", {})
    runtime, module = container.get("runtime", "none"), container.get("module", "")
    if module and (shown := observations.text(f"module {module}")):
        yield _compare_fact("container.module", module, "found" if shown == "yes" else "not found",
                            f"module avail {module}", agrees=shown == "yes")  # fmt: skip
    if runtime == "none" or "on_login" not in container:
        return  # the profile has no fact about login nodes
    program_path, expected = observations.text(f"program {runtime}"), container["on_login"]
    is_certain = program_path or (expected and not module)  # without the program, the module may provide the runtime
    agrees = bool(expected) == bool(program_path) if is_certain else None
    yield _compare_fact("container.on_login", expected, program_path or "not found", f"command -v {runtime}",
                        agrees=agrees, value=bool(program_path))  # fmt: skip


def _compare_slurm(scheduler: Profile, observations: Observations) -> Iterator[ProbedFact]:
    """Yield the comparisons of facts about Slurm. scheduler: the profile's part about Slurm.

    The correct list of partitions has those of the profile that exist; if none exists, all that sinfo shows.
    """
    existing = observations.partitions()
    if not existing:
        yield _compare_fact("scheduler.kind", "slurm", "sinfo shows no partition", SINFO)
        return
    yield _compare_fact("scheduler.kind", "slurm", "slurm", SINFO, agrees=True)
    partitions = scheduler.get("partitions", [])
    if partitions:
        missing = [name for name in partitions if name not in existing]
        yield _compare_fact("scheduler.partitions", partitions, _not_found_text(missing) if missing else partitions,
                            SINFO, agrees=not missing,
                            value=[name for name in partitions if name in existing] or existing)  # fmt: skip
    yield from _compare_options(scheduler, observations)
    yield from _compare_hours(scheduler, observations)
    yield from _compare_gpus(scheduler, observations)
    default = observations.slurm.get("default_partition")  # "": Slurm has none; None: not observed
    if default is not None:
        expected, is_required = scheduler.get("partition_required", False), default == ""
        if is_required or expected:  # else, neither the profile nor Slurm requires a partition
            yield _compare_fact("scheduler.partition_required", expected,
                                "no default partition" if is_required else f"the default is {default}", "sinfo",
                                agrees=expected == is_required, value=is_required)  # fmt: skip


def _not_found_text(names: Sequence[str]) -> str:
    """Return a text such as 'gpu, cpu not found'."""
    return f"{_format(names)} not found"


def _compare_options(scheduler: Profile, observations: Observations) -> Iterator[ProbedFact]:
    """Yield the comparisons of the options for GPU, CPU and test jobs.

    Options agree if their partitions and their type of GPU exist.
    """
    types = observations.count_gpu_nodes()
    for name in ("gpu", "cpu", "test"):
        if name not in scheduler:
            continue
        options = split_site_options(scheduler[name])
        partitions = [partition for partition in options.named.get("--partition", "").split(",") if partition]
        missing = [partition for partition in partitions if partition not in observations.partitions()]
        shows_types = bool(set(types) - {""})  # sinfo may show GPUs without their type
        if options.gpu_type and shows_types and options.gpu_type not in types:
            missing.append(options.gpu_type)
        if partitions or options.gpu_type:
            yield _compare_fact(f"scheduler.{name}", scheduler[name], _not_found_text(missing) if missing else "found",
                                SINFO, agrees=not missing)  # fmt: skip


def _compare_hours(scheduler: Profile, observations: Observations) -> Iterator[ProbedFact]:
    """Yield the comparisons of the time limits of single partitions, and of the longest limit of all others."""
    by_partition = scheduler.get("partition_hours", {})
    existing = observations.partitions()
    for name, hours in by_partition.items():
        if name in existing:
            limit = observations.hours(name)
            yield _compare_fact(f"scheduler.partition_hours.{name}", hours, "no limit" if limit is None else limit,
                                SINFO, agrees=limit is None or abs(limit - hours) < SAME_HOURS,
                                value=limit if limit and limit >= LEAST_HOURS else None)  # fmt: skip
    others = [name for name in scheduler.get("partitions", existing) if name in existing and name not in by_partition]
    limits = [limit for limit in map(observations.hours, others) if limit is not None]
    if "hours" in scheduler and limits:
        longest = max(limits)  # below one hour, no correct value exists: a profile has whole hours
        yield _compare_fact("scheduler.hours", scheduler["hours"], longest, SINFO,
                            agrees=longest >= scheduler["hours"], value=int(longest) or None)  # fmt: skip


def _compare_gpus(scheduler: Profile, observations: Observations) -> Iterator[ProbedFact]:
    """Yield the comparisons of nodes by type of GPU, and of the numbers of GPUs that a job may have on one node."""
    types = observations.count_gpu_nodes()
    if not types:
        return  # sinfo shows no GPU, so it cannot confirm or correct the profile
    if scheduler.get("gpu_nodes"):
        expected = scheduler["gpu_nodes"]
        observed = {name: number for name, number in sorted(types.items()) if name}
        agrees = all(observed.get(name) == number for name, number in expected.items()) if observed else None
        yield _compare_fact("scheduler.gpu_nodes", expected, observed, SINFO, agrees=agrees, value=observed)
    if scheduler.get("gpus_per_node"):
        gpu_type = split_site_options(scheduler.get("gpu", "")).gpu_type
        with_gpu_type = [nodes for nodes in observations.nodes if gpu_type in nodes.gpus] or observations.nodes
        max_gpus = max(sum(nodes.gpus.values()) for nodes in with_gpu_type)
        expected = scheduler["gpus_per_node"]
        corrected = sorted({*(number for number in expected if number < max_gpus), max_gpus})
        yield _compare_fact("scheduler.gpus_per_node", expected, f"at most {max_gpus}", SINFO,
                            agrees=max(expected) == max_gpus, value=corrected)  # fmt: skip
