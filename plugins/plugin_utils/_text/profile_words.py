# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of profiles in words, for the cheat sheet of an account.

A profile describes a cluster (docs/schemas/profile.schema.json). The functions get parts of a profile: `scheduler`, or
the home or a storage area as `place`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .amounts import count

Part = Mapping[str, Any]

LOGIN_METHODS = {  # login method of a site -> what a user logs in with
    "key": "SSH key",
    "key_otp": "key or password, and a second factor each time",
    "key_then_otp": "SSH key, and then a second factor each time; passwords are refused",
    "password_otp": "password and a second factor; keys are refused",
    "session": "SSH key, after a second factor has opened a session",
    "certificate": "signed SSH key",
    "agent_certificate": "signed SSH key, which the site adds to your forwarded agent",
    "kerberos": "Kerberos ticket",
    "password": "password",
    "no_automation": "by hand only: the site does not allow programs to log in",
}
# For the fields of a storage area: which time of a file counts for deletion, whose quota it is, and the access in jobs
FILE_TIMES = {"atime": "last read", "ctime_and_atime": "last changed or read", "age": "last changed"}
QUOTA_OWNERS = {"group": "for the group", "project": "for the project", "site": "for you on all systems of the site"}
ACCESS_IN_JOBS = {
    "ro": "read-only in jobs",
    "absent": "not available in jobs",
    "ticket": "not readable in jobs, which have no Kerberos ticket",
}
SCHEDULERS = {"slurm": "Slurm", "pbs": "PBS", "none": "no batch system"}
PARTITION = re.compile(r"(?:--partition=|-p )(\S+)")  # in options of Slurm
INTERNET = {"full": "available in jobs", "proxy": "available in jobs through a proxy", "none": "not available in jobs"}


def format_size(size: int) -> str:
    """Return a size in bytes as text, such as '1.5 TB'; in GiB and TiB if the size is a multiple of 1 GiB."""
    units = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6))
    if size % 2**30 == 0:
        units = (("TiB", 2**40), ("GiB", 2**30), ("MB", 10**6))
    unit, factor = next(((unit, factor) for unit, factor in units if size >= factor), ("B", 1))  # the largest that fits
    return f"{size / factor:g} {unit}"


def shorten(names: str, cells: int) -> str:
    """Return a text of names with commas, shortened to at most this many cells before the dots.

    >>> shorten("debug, normal, large", 14)
    'debug, normal, ...'
    """
    return names if len(names) <= cells else f"{names[: cells + 1].rpartition(', ')[0]}, ..."


def first_clause(text: str) -> str:
    """Return the first sentence of a text, or its part before a semicolon."""
    return re.split(r"(?<=[a-z0-9)][.;]) ", text, maxsplit=1)[0].rstrip(";")


def list_limits(place: Part) -> list[str]:
    """Return phrases about a storage area or home: quota and its owner, files, backup, deletion, access in jobs.

    place: the profile's part about the area or home. A limit that the profile does not name is omitted.
    """
    # the hard limit above the quota, and the days for which more than the quota is allowed
    hard_limit = (
        f" ({format_size(place['hard_bytes'])} for {count(place['grace_days'], 'day')})"
        if "hard_bytes" in place
        else ""
    )
    limits = [format_size(place["bytes"]) + hard_limit] if "bytes" in place else []
    limits += [count(place["files"], "file")] if "files" in place else []
    limits += [QUOTA_OWNERS[place["per"]]] if place.get("per") in QUOTA_OWNERS and limits else []
    if "backup" in place:
        limits.append("backed up" if place["backup"] else "no backup")
    if "purge" in place:
        clock = FILE_TIMES[place["purge"]["clock"]]
        limits.append(f"files are deleted {count(place['purge']['days'], 'day')} after they were {clock}")
    if place.get("on_compute") in ACCESS_IN_JOBS:
        limits.append(ACCESS_IN_JOBS[place["on_compute"]])
    return limits


def list_partitions(scheduler: Part) -> str:
    """Return the partitions with their time limits, first those in the profile's options for GPU and CPU jobs.

    >>> list_partitions({"gpu": "--partition=gpu", "partitions": ["cpu", "gpu"], "partition_hours": {"gpu": 24}})
    'gpu (24 h), cpu'
    """
    job_partitions = PARTITION.findall(f"{scheduler.get('gpu', '')} {scheduler.get('cpu', '')}")
    names, hours = scheduler.get("partitions", ()), scheduler.get("partition_hours", {})
    # the partitions in no option have the same, last position, so sorted() keeps their order
    ordered = sorted(names, key=lambda name: (*job_partitions, name).index(name))
    return ", ".join(f"{name} ({hours[name]:g} h)" if name in hours else name for name in ordered)


def describe_longest_job(scheduler: Part) -> str:
    """Return the time limit of a job with the profile's options: of its QOS, else of its partition or the cluster.

    Return "" if the profile has no limit.
    """
    options = scheduler.get("gpu") or scheduler.get("cpu", "")  # of Slurm, for a GPU or a CPU job
    partition = "".join(PARTITION.findall(options))
    qos = "".join(re.findall(r"--qos=(\S+)", options))
    hours_of_partition = scheduler.get("partition_hours", {}).get(partition, scheduler.get("hours"))
    hours = scheduler.get("qos_hours", {}).get(qos, hours_of_partition)
    return f"at most {hours:g} hour{'' if hours == 1 else 's'}" if hours else ""


def describe_share(scheduler: Part) -> str:
    """Return how many GPUs of a node a job can use, and the share of processors and memory for each GPU.

    Return "" if the profile has none of these numbers.
    """
    numbers = [number for number in scheduler.get("gpus_per_node", []) if number]  # [0]: the nodes have no GPUs
    is_range = len(numbers) > 2 and numbers == [*range(numbers[0], numbers[-1] + 1)]  # such as 1, 2, 3, 4
    choices = f"{numbers[0]} to {numbers[-1]}" if is_range else " or ".join(map(str, numbers))
    processors = count(scheduler["cpus_per_gpu"], "processor") if "cpus_per_gpu" in scheduler else ""
    share = " and ".join(filter(None, (processors, scheduler.get("memory_per_gpu"))))
    parts = [f"{choices} on a node"] if choices else []
    parts += [f"{share} for each"] if share else []
    parts += ["whole nodes are charged"] if scheduler.get("whole_nodes") else []
    return "; ".join(parts)


def join_phrases(*phrases: str | None) -> str:
    """Return the phrases in one sentence, separated by commas. Empty phrases are omitted.

    Only the last phrase keeps its full stop.
    """
    last = len(phrases) - 1
    return ", ".join(text if index == last else text.rstrip(".") for index, text in enumerate(phrases) if text)


def join_sentences(*texts: str | None) -> str:
    """Return the texts as sentences; a single text gets no full stop. Empty texts are omitted."""
    present = [text for text in texts if text]
    return ". ".join(text.rstrip(".") for text in present) + ("." if len(present) > 1 else "")
