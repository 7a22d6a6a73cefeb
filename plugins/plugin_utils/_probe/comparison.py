# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of a profile beside what an account of that cluster shows: agrees, differs or not visible.

Only what the account shows for certain differs. What may depend on the account, such as an area that was not granted to
it, a larger allocation or a module that is not loaded, is not visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._roles.job_request import split_site_options

if TYPE_CHECKING:
    from .._documents.probe import Comparison, ProbedFact
    from .._documents.result import JobCheckResult
    from .observations import Observations

TOLERANCE = 0.1  # of a quota: sites count 47 GiB as 50 GB
NO_LIMIT = "no limit"
SINFO = "sinfo -a -h -o '%R|%G|%D|%l'"
TEST_JOB = "hpc-onboard test-job"
Profile = Mapping[str, Any]


def compare(profile: Profile, seen: Observations, user: str) -> list[ProbedFact]:
    """Return the facts of a profile that can be compared. profile: filled in for the user's account."""
    return [
        *_machine(profile, seen),
        *_home(profile, seen, user),
        *_areas(profile, seen),
        *_quotas(profile, seen),
        *_container(profile, seen),
        *(_slurm(profile["scheduler"], seen) if profile.get("scheduler", {}).get("kind") == "slurm" else ()),
    ]


def compare_jobs(profile: Profile, jobs: Sequence[JobCheckResult]) -> list[ProbedFact]:
    """Return the facts that only a job shows."""
    works = {one["what"]: one["works"] for one in jobs}
    places = [("home", profile["home"], "~")]
    places += [(f"storage.{one['name']}", one, one.get("path", "")) for one in profile.get("storage", ())]
    facts = [
        _fact(f"{fact}.on_compute", says["on_compute"], "writable" if works[check] else "not writable", TEST_JOB,
              agrees=(says["on_compute"] == "rw") == works[check])
        for fact, says, path in places
        if "on_compute" in says and (check := f"{path} is writable") in works
    ]  # fmt: skip
    reached = [one["works"] for one in jobs if one["way"] == "reach"]
    internet = profile.get("compute", {}).get("internet")
    if internet and reached:
        shown = "reachable" if any(reached) else "not reachable"
        agrees = (internet != "none") == any(reached)
        facts.append(_fact("compute.internet", internet, shown, TEST_JOB, agrees=agrees))
    return facts


def _fact(fact: str, says: Any, seen: Any, by: str, *, agrees: bool | None = None, value: Any = None) -> ProbedFact:
    """Return one fact. agrees: None if the account does not show it."""
    result: Comparison = "not visible" if agrees is None else "agrees" if agrees else "differs"
    row: ProbedFact = {"fact": fact, "result": result, "says": _text(says), "seen": _text(seen), "by": by}
    return {**row, "value": value} if value is not None and result == "differs" else row


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) \
        else str(value)  # fmt: skip


# -- the machine -----------------------------------------------------------------------------------


def _machine(profile: Profile, seen: Observations) -> Iterator[ProbedFact]:
    if machine := seen.text("arch"):
        machines = profile.get("arch", [])
        if machines:
            yield _fact("arch", machines, machine, "uname -m", agrees=machine in machines, value=[*machines, machine])
    if profile.get("os") and (os := seen.text("os")):
        agrees = _release(os) == _release(profile["os"]) if _release(os) and _release(profile["os"]) else None
        yield _fact("os", profile["os"], os, "/etc/os-release", agrees=agrees, value=os)


def _release(text: str) -> tuple[str, str] | None:
    """Return the first word and the major number of an operating system's name.

    >>> _release("Rocky Linux 9.6 (Blue Onyx)")
    ('rocky', '9')
    """
    number = re.search(r"[0-9]+", text)
    return (text.split()[0].lower(), number[0]) if number else None


# -- folders and quotas ----------------------------------------------------------------------------


def _home(profile: Profile, seen: Observations, user: str) -> Iterator[ProbedFact]:
    says, homes = profile["home"].get("path"), [seen.text("home"), seen.text("home folder")]
    if says and homes[0]:
        pattern = homes[0].replace(user, "{user}") if user in homes[0] else None
        yield _fact("home.path", says, homes[0], "getent passwd", agrees=says in homes, value=pattern)


def _areas(profile: Profile, seen: Observations) -> Iterator[ProbedFact]:
    for area in profile.get("storage", ()):
        fact, name = f"storage.{area['name']}", area["name"]
        if variable := area.get("variable"):
            value = seen.text(f"variable {variable.removeprefix('$')}")
            yield _fact(f"{fact}.variable", variable, value or "not set in a login shell", f"printenv {variable[1:]}",
                        agrees=True if value else None)  # fmt: skip
        path = area.get("path")
        if not path or "{" in path or path.startswith("$"):
            continue
        found, root = seen.area(name), seen.area(f"{name} root")
        if found.kind in ("", "folder"):
            yield _fact(f"{fact}.path", path, found.kind or "could not be read", f"ls -d {path}",
                        agrees=True if found.kind else None)  # fmt: skip
        elif root.kind == "folder":  # it may not be granted to this account, or be to create
            yield _fact(f"{fact}.path", path, "not there for this account", f"ls -d {path}")
        else:
            yield _fact(f"{fact}.path", path, f"no {root.path}", f"ls -d {root.path}", agrees=False)
    for number, launcher in enumerate(profile.get("launchers", ())):
        found = seen.area(f"launcher {number}")
        if launcher.get("image") and found.kind:
            yield _fact(f"launchers.{launcher['name']}.image", launcher["image"], found.kind,
                        f"ls {launcher['image']}", agrees=found.kind == "file")  # fmt: skip
    if (folder := profile.get("container", {}).get("images")) and (found := seen.area("images")).kind:
        yield _fact("container.images", folder, found.kind, f"ls -d {folder}", agrees=found.kind == "folder")


def _quotas(profile: Profile, seen: Observations) -> Iterator[ProbedFact]:
    command = profile.get("quota_command", "")
    if command:
        found = seen.text(f"program {command.split()[0]}")
        yield _fact("quota_command", command, found or "not found", f"command -v {command.split()[0]}",
                    agrees=bool(found) or None)  # fmt: skip
    places = [("home", profile["home"], seen.text("home"))]
    places += [(f"storage.{one['name']}", one, seen.area(one["name"]).path) for one in profile.get("storage", ())]
    for fact, limits, path in places:
        for what in ("bytes", "files"):
            limit = _find_quota(seen.quotas(what), fact.rpartition(".")[2], path)
            if what in limits and limit:
                says = limits[what]
                yield _fact(f"{fact}.{what}", says, limit, command or "quota -s -w",
                            agrees=limit >= says * (1 - TOLERANCE), value=limit)  # fmt: skip


def _find_quota(quotas: Mapping[str, int], name: str, path: str) -> int | None:
    """Return the limit of an area, which commands name by its path, a path above it, or a word such as home."""
    above = [place for place in quotas if place.startswith("/") and f"{path}/".startswith(f"{place.rstrip('/')}/")]
    named = [place for place in quotas if place.strip("/").lower() == name]
    place = max(above, key=len, default=None) if path else None
    return quotas[place or named[0]] if place or named else None


# -- containers ------------------------------------------------------------------------------------


def _container(profile: Profile, seen: Observations) -> Iterator[ProbedFact]:
    container = profile.get("container", {})
    runtime, module = container.get("runtime", "none"), container.get("module", "")
    if module and (shown := seen.text(f"module {module}")):
        yield _fact("container.module", module, "there" if shown == "yes" else "not there", f"module avail {module}",
                    agrees=shown == "yes")  # fmt: skip
    if runtime == "none" or "on_login" not in container:
        return
    found = seen.text(f"program {runtime}")
    is_hidden = bool(module) and not found  # it comes with its module
    agrees = None if is_hidden or (not container["on_login"] and not found) else bool(found) == container["on_login"]
    yield _fact("container.on_login", container["on_login"], found or "not found", f"command -v {runtime}",
                agrees=agrees, value=bool(found))  # fmt: skip


# -- Slurm -----------------------------------------------------------------------------------------


def _slurm(says: Profile, seen: Observations) -> Iterator[ProbedFact]:
    there = seen.partitions()
    if not there:
        yield _fact("scheduler.kind", "slurm", "sinfo shows no partition", SINFO)
        return
    yield _fact("scheduler.kind", "slurm", "slurm", SINFO, agrees=True)
    own = says.get("partitions", [])
    if own:
        gone = [name for name in own if name not in there]
        yield _fact("scheduler.partitions", own, f"no {_text(gone)}" if gone else own, SINFO, agrees=not gone,
                    value=[name for name in own if name in there] or there)  # fmt: skip
    yield from _options(says, seen)
    yield from _hours(says, seen)
    yield from _gpus(says, seen)
    default = seen.slurm.get("default_partition")
    if default is not None:
        needs = default == ""
        if needs or says.get("partition_required"):
            yield _fact("scheduler.partition_required", says.get("partition_required", False),
                        "no default partition" if needs else f"default is {default}", "sinfo",
                        agrees=bool(says.get("partition_required")) == needs, value=needs)  # fmt: skip


def _options(says: Profile, seen: Observations) -> Iterator[ProbedFact]:
    """Yield the partitions and the types of GPUs that the options of jobs name."""
    types = seen.gpu_types()
    for name in ("gpu", "cpu", "test"):
        if name not in says:
            continue
        options = split_site_options(says[name])
        partitions = [one for one in options.named.get("--partition", "").split(",") if one]
        gone = [one for one in partitions if one not in seen.partitions()]
        if options.gpu_type and options.gpu_type not in types and set(types) - {""}:
            gone.append(options.gpu_type)
        if partitions or options.gpu_type:
            yield _fact(f"scheduler.{name}", says[name], f"no {_text(gone)}" if gone else "there", SINFO,
                        agrees=not gone)  # fmt: skip


def _hours(says: Profile, seen: Observations) -> Iterator[ProbedFact]:
    by_partition = says.get("partition_hours", {})
    for name, hours in by_partition.items():
        if name in seen.partitions():
            limit = seen.hours(name)
            shown = NO_LIMIT if limit is None else limit
            yield _fact(f"scheduler.partition_hours.{name}", hours, shown, SINFO,
                        agrees=limit is None or abs(limit - hours) < 0.02, value=limit)  # fmt: skip
    own = [
        one for one in says.get("partitions", seen.partitions()) if one in seen.partitions() and one not in by_partition
    ]
    limits = [limit for limit in map(seen.hours, own) if limit is not None]
    if "hours" in says and limits:
        longest = max(limits)
        yield _fact("scheduler.hours", says["hours"], longest, SINFO, agrees=longest >= says["hours"],
                    value=int(longest) or None)  # fmt: skip


def _gpus(says: Profile, seen: Observations) -> Iterator[ProbedFact]:
    types = seen.gpu_types()
    if not types:
        return
    if says.get("gpu_nodes"):
        expected = says["gpu_nodes"]
        shown = {name: number for name, number in sorted(types.items()) if name}
        agrees = (
            None if "" in types and not shown else all(shown.get(name) == number for name, number in expected.items())
        )
        yield _fact("scheduler.gpu_nodes", expected, shown, SINFO, agrees=agrees, value=shown)
    if says.get("gpus_per_node"):
        named = split_site_options(says.get("gpu", "")).gpu_type
        usual = [nodes for nodes in seen.nodes if named in nodes.gpus] or seen.nodes
        most = max(sum(nodes.gpus.values()) for nodes in usual)
        expected = says["gpus_per_node"]
        offered = sorted({*(one for one in expected if one < most), most})
        yield _fact("scheduler.gpus_per_node", expected, f"at most {most}", SINFO, agrees=max(expected) == most,
                    value=offered)  # fmt: skip
