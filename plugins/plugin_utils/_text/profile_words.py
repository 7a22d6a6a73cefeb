# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words of profiles as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .amounts import count

Part = Mapping[str, Any]

SIGNING = {
    "key": "SSH key",
    "key_otp": "key or password, and a second factor each time",
    "key_then_otp": "SSH key, and then a second factor each time; passwords are refused",
    "password_otp": "password and a second factor; keys are refused",
    "session": "SSH key, once a second factor has opened a session",
    "certificate": "signed SSH key",
    "agent_certificate": "signed SSH key, which the site puts into your forwarded agent",
    "kerberos": "Kerberos ticket",
    "password": "password",
    "no_automation": "you alone, by hand: no program is let in",
}
CLOCKS = {"atime": "last read", "ctime_and_atime": "last changed and read", "age": "last changed"}
WHOSE = {"group": "for the group", "project": "for the project", "site": "for you on all systems of the site"}
IN_JOBS = {
    "ro": "read-only in jobs",
    "absent": "not there in jobs",
    "ticket": "unreadable in jobs, which have no ticket",
}
KINDS = {"slurm": "Slurm", "pbs": "PBS", "none": "no batch system"}
INTERNET = {"full": "jobs reach the Internet", "proxy": "jobs reach it by a proxy", "none": "jobs have none"}


def size(number: int) -> str:
    """Bytes as a person says them; in GiB and TiB where the site counts in those."""
    units = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6))
    if number % 2**30 == 0:
        units = (("TiB", 2**40), ("GiB", 2**30), ("MB", 10**6))
    unit, factor = next((one for one in units if number >= one[1]), ("B", 1))
    return f"{number / factor:g} {unit}"


def shorten(names: str, cells: int) -> str:
    """A list of names, cut after as many as there is room for.

    >>> shorten("debug, normal, large", 14)
    'debug, normal, ...'
    """
    return names if len(names) <= cells else f"{names[: cells + 1].rpartition(', ')[0]}, ..."


def first_sentence(text: str) -> str:
    """The first sentence of a text."""
    return re.split(r"(?<=[a-z0-9)][.;]) ", text, maxsplit=1)[0].rstrip(";")


def list_limits(place: Part) -> list[str]:
    """Return what holds of a place: its size, whose that is, backup, purge, jobs."""
    over = f" ({size(place['hard_bytes'])} for {count(place['grace_days'], 'day')})" if "hard_bytes" in place else ""
    said = [size(place["bytes"]) + over] if "bytes" in place else []
    said += [count(place["files"], "file")] if "files" in place else []
    said += [WHOSE[place["per"]]] if place.get("per") in WHOSE and said else []
    if "backup" in place:
        said.append("backed up" if place["backup"] else "no backup")
    if "purge" in place:
        said.append(f"deleted {place['purge']['days']} days after it was {CLOCKS[place['purge']['clock']]}")
    if place.get("on_compute") in IN_JOBS:
        said.append(IN_JOBS[place["on_compute"]])
    return said


def list_partitions(scheduler: Part) -> str:
    """The partitions with their hours; first those that jobs of this collection go to."""
    usual = re.findall(r"--partition=(\S+)", f"{scheduler.get('gpu', '')} {scheduler.get('cpu', '')}")
    names, hours = scheduler.get("partitions", ()), scheduler.get("partition_hours", {})
    ordered = sorted(names, key=lambda name: usual.index(name) if name in usual else len(usual))
    return ", ".join(f"{name} ({hours[name]:g} h)" if name in hours else name for name in ordered)


def describe_longest(scheduler: Part) -> str:
    """Return how long a job may last with the QOS or in the partition that it gets, with a GPU where there are some."""
    options = scheduler.get("gpu") or scheduler.get("cpu", "")
    partition, qos = ("".join(re.findall(rf"(?:{name})(\S+)", options)) for name in ("--partition=|-p ", "--qos="))
    hours = scheduler.get("partition_hours", {}).get(partition, scheduler.get("hours"))
    hours = scheduler.get("qos_hours", {}).get(qos, hours)
    return f"at most {hours:g} hours" if hours else ""


def describe_share(scheduler: Part) -> str:
    """Return what a job with GPUs may have of a node."""
    numbers = [number for number in scheduler.get("gpus_per_node", []) if number]
    is_range = len(numbers) > 2 and numbers == [*range(numbers[0], numbers[-1] + 1)]
    many = f"{numbers[0]} to {numbers[-1]}" if is_range else " or ".join(map(str, numbers))
    processors = count(scheduler["cpus_per_gpu"], "processor") if "cpus_per_gpu" in scheduler else ""
    share = " and ".join(filter(None, (processors, scheduler.get("memory_per_gpu"))))
    whole = "whole nodes are charged" if scheduler.get("whole_nodes") else ""
    return "; ".join(filter(None, (f"{many} on a node" if many else "", f"{share} for each" if share else "", whole)))


def joined(*words: str | None) -> str:
    return ", ".join(word.rstrip(".") if at < len(words) - 1 else word for at, word in enumerate(words) if word)


def sentences(*texts: str | None) -> str:
    said = [text for text in texts if text]
    return ". ".join(text.rstrip(".") for text in said) + ("." if len(said) > 1 else "")
