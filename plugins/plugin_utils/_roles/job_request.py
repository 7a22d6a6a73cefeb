# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options by which a job asks Slurm for what it needs: one model for usrun.sh, job scripts and imports of images.

Whatever cannot be satisfied is refused here, with the values that can be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...module_utils._core.errors import AccountError
from .table import SLURM_ACCOUNT, SLURM_CPU_ACCOUNT, Settings

GPUS = re.compile(r"(--gres=gpu:|--gpus=|--gpus-per-node=)(?:([A-Za-z0-9_.-]+):)?([0-9]+)\Z")
MEMORY = re.compile(r"([0-9]+)([KMGT]?)\Z")
MODELLED = (
    *("--partition", "--qos", "--account", "--nodes", "--ntasks", "--ntasks-per-node", "--cpus-per-task"),
    *("--mem", "--mem-per-cpu", "--time"),
)
"""Options that a request has by itself, so that none of a profile's is given twice."""
IMPORT_CPUS = 4  # for a job that imports an image: packing it is work for several, and memory comes with them

FARM_CPUS = 8  # for a job that runs many commands at once, where it does not get a whole node


class SiteOptions(NamedTuple):
    """The options of a profile, such as `--partition=gpu --gres=gpu:a100:1`, in parts.

    gpu_option: what comes before type and number; empty where a job gets its GPUs with the node.
    """

    named: dict[str, str]
    gpu_option: str
    gpu_type: str
    others: list[str]


class Usual(NamedTuple):
    """What jobs with GPUs, or jobs without one, ask for if no one says otherwise."""

    partition: str
    qos: str
    cpus: int
    memory: str
    others: list[str]


class JobRequest(NamedTuple):
    """A request. options: for sbatch and srun, none twice. gpu_flag: by which Apptainer shows GPUs, or empty."""

    gpus: int
    nodes: int
    options: list[str]
    gpu_flag: str


def make_request(settings: Settings, gpus: int, nodes: int) -> JobRequest:
    """Return the request of a job with so many GPUs on each of so many nodes. Raises AccountError if it is impossible.

    settings: gpu, cpu and limits from the profile; gpu_type, cpus, memory, minutes, partition, cpu_partition, qos.
    """
    usual = find_usual(settings, gpus > 0)
    _check_partition(settings, usual.partition, gpus)
    _check_minutes(settings, usual.partition)
    if gpus:
        _check_gpus(settings, gpus, nodes)
    limits = settings["limits"]
    cpus = usual.cpus or (limits.get("cpus_per_gpu", 0) * gpus)
    options = [
        *([f"--partition={usual.partition}"] if usual.partition else []),
        *([f"--qos={usual.qos}"] if usual.qos else []),
        f"--account={account_placeholder(settings, gpus)}",
        *usual.others,
        f"--nodes={nodes}",
        "--ntasks-per-node=1",
        *_gpu_options(settings, gpus, nodes),
        *([f"--cpus-per-task={cpus}"] if cpus else []),
        *_memory_options(limits, usual.memory, gpus),
        f"--time={settings['minutes']}",
    ]
    return JobRequest(gpus, nodes, options, gpu_flag(settings) if gpus else "")


def make_import_request(settings: Settings) -> JobRequest:
    """Return the request of a job that imports an image: its size is the image's, not that of the user's jobs."""
    cpus = IMPORT_CPUS if settings["limits"].get("memory_per_cpu") else 0
    return make_request({**settings, "cpus": cpus, "memory": ""}, 0, 1)


def make_farm_request(settings: Settings) -> JobRequest:
    """Return the request of a job without a GPU that runs as many commands at once as it has processors."""
    is_whole = settings["limits"].get("whole_nodes", False)
    cpus = find_usual(settings, False).cpus or (0 if is_whole else FARM_CPUS)
    return make_request({**settings, "cpus": cpus}, 0, 1)


def gpu_flag(settings: Settings) -> str:
    """Return the option by which Apptainer and Singularity show a job's GPUs in a container."""
    return "--rocm" if settings["limits"].get("gpu_vendor") == "amd" else "--nv"


def account_placeholder(settings: Settings, gpus: int) -> str:
    """Return the word that becomes the Slurm account, which is looked up on the cluster."""
    return SLURM_CPU_ACCOUNT if settings["limits"].get("account_suffixes") and not gpus else SLURM_ACCOUNT


def offered_gpus(settings: Settings) -> list[int]:
    """Return the numbers of GPUs that a job can have on one node; empty if unknown. settings: gpu and limits."""
    gets_them_with_the_node = not split_site_options(settings["gpu"]).gpu_option
    return settings["limits"].get("gpus_per_node") or ([1] if gets_them_with_the_node else [])


def nearest_offer(settings: Settings, number: int) -> int:
    """Return the largest number of GPUs on a node that is offered and not greater, else the smallest one."""
    offered = sorted(offered_gpus(settings))
    return max((one for one in offered if one <= number), default=offered[0] if offered else number)


def split_site_options(options: str) -> SiteOptions:
    """Return the parts of a profile's options for one GPU, or for none.

    >>> split_site_options("--partition=gpu --gres=gpu:a100:1 --exclusive")
    SiteOptions(named={'--partition': 'gpu'}, gpu_option='--gres=gpu:', gpu_type='a100', others=['--exclusive'])
    >>> split_site_options("--partition=gh --nodes=1").gpu_option
    ''
    """
    named, others, option, kind = {}, [], "", ""
    for word in options.split():
        name, _, value = word.partition("=")
        if match := GPUS.match(word):
            option, kind = match[1], match[2] or ""
        elif name in MODELLED:
            named[name] = value
        else:
            others.append(word)
    return SiteOptions(named, option, kind, others)


def find_usual(settings: Settings, has_gpus: bool) -> Usual:
    """Return what jobs with GPUs, or without one, ask for. A GPU partition never reaches a job without a GPU.

    A site's QOS belongs to the site's partition.
    """
    of_gpus, of_cpus = split_site_options(settings["gpu"]), split_site_options(settings["cpu"])
    site = of_gpus if has_gpus else of_cpus
    usual_partition, site_qos = site.named.get("--partition", ""), site.named.get("--qos", "")
    are_apart = any("--partition" in one.named for one in (of_gpus, of_cpus))
    if has_gpus:
        partition = settings["partition"] or usual_partition
    else:
        partition = settings["cpu_partition"] or usual_partition or ("" if are_apart else settings["partition"])
    kept_qos = site_qos if partition == usual_partition else ""
    qos = (settings["qos"] or kept_qos) if has_gpus else (kept_qos or settings["qos"])
    return Usual(
        partition,
        qos,
        settings["cpus"] or int(site.named.get("--cpus-per-task", 0)),
        settings["memory"] or site.named.get("--mem", ""),
        site.others,
    )


def _gpu_options(settings: Settings, gpus: int, nodes: int) -> list[str]:
    """The option that asks for GPUs on each node. --gpus counts all of a job, which Slurm may spread unevenly."""
    site = split_site_options(settings["gpu"])
    if not gpus or not site.gpu_option:
        return []
    option = "--gpus-per-node=" if site.gpu_option == "--gpus=" and nodes > 1 else site.gpu_option
    kind = settings["gpu_type"] or site.gpu_type
    return [f"{option}{kind + ':' if kind else ''}{gpus}"]


def _memory_options(limits: Settings, memory: str, gpus: int) -> list[str]:
    if memory:
        return [f"--mem={memory}"]
    per_gpu, per_cpu = MEMORY.match(limits.get("memory_per_gpu", "")), limits.get("memory_per_cpu")
    if gpus:
        return [f"--mem={int(per_gpu[1]) * gpus}{per_gpu[2]}"] if per_gpu else []
    return [f"--mem-per-cpu={per_cpu}"] if per_cpu else []


def _check_partition(settings: Settings, partition: str, gpus: int) -> None:
    limits, site = settings["limits"], settings["site"]
    known: Sequence[str] = limits.get("partitions", [])
    setting = "partition" if gpus or partition == settings["partition"] != "" else "cpu_partition"
    if not partition and limits.get("partition_required"):
        jobs = "GPUs" if gpus else "no GPU"
        raise AccountError(
            f"{setting}: Slurm has no default partition at {site}. For jobs with {jobs}, set {setting} to one of"
            f" {join_words(known) or 'those that sinfo shows'}"
        )
    unknown = next((one for one in partition.split(",") if one and known and one not in known), None)
    if unknown:
        raise AccountError(
            f"{setting}: {site} has no partition {unknown!r}. Set {setting} to one of {join_words(known)}"
        )


def minutes_by_partition(settings: Settings) -> dict[str, int]:
    """Return the limits in minutes: of partitions by their names, and the site's by an empty name.

    Where jobs usually have a QOS, its limit holds rather than the partition's.
    """
    limits = settings["limits"]
    hours = {**limits.get("partition_hours", {}), **({"": limits["hours"]} if "hours" in limits else {})}
    for usual in (find_usual(settings, has_gpus) for has_gpus in (False, True)):
        if usual.qos in limits.get("qos_hours", {}):
            hours[usual.partition] = limits["qos_hours"][usual.qos]
    return {name: int(number * 60) for name, number in hours.items()}


def _check_minutes(settings: Settings, partition: str) -> None:
    site, minutes, longest = settings["site"], settings["minutes"], minutes_by_partition(settings)
    for name in partition.split(","):
        most = longest.get(name, longest.get("", minutes))
        if minutes > most:
            where = f"in the partition {name} of {site}" if name in longest and name else f"at {site}"
            raise AccountError(
                f"minutes: a job lasts at most {most} minutes {where}, not {minutes}. Set minutes: {most}"
            )


def _check_gpus(settings: Settings, gpus: int, nodes: int) -> None:
    limits, site = settings["limits"], split_site_options(settings["gpu"])
    offered = offered_gpus(settings)
    if offered and gpus not in offered:
        raise AccountError(
            f"gpus: a job at {settings['site']} cannot have {gpus} GPUs on one node."
            f" Set gpus to {join_words(map(str, offered))}"
        )
    if settings["gpu_type"] and not site.gpu_option:
        raise AccountError(f"gpu_type: jobs at {settings['site']} name no type of GPU. Set partition instead")
    kind, number = settings["gpu_type"] or site.gpu_type, limits.get("gpu_nodes", {})
    if nodes > number.get(kind, nodes):
        larger = [f"{name} ({count} nodes)" for name, count in number.items() if count >= nodes]
        raise AccountError(
            f"nodes: {settings['site']} has {number[kind]} node(s) with GPUs of type {kind}. Set nodes to"
            f" {number[kind]} at most{', or gpu_type to ' + join_words(larger) if larger else ''}"
        )


def join_words(words: Iterable[Any]) -> str:
    """Return words as a sentence lists them: "1, 2 or 4"."""
    *first, last = [str(word) for word in words] or [""]
    return f"{', '.join(first)} or {last}" if first else last
