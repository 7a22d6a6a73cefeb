# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Slurm options that request a job's resources: one model for usrun.sh, job scripts and image imports.

A request that the site cannot satisfy is refused here, with the available values. The functions get the settings of a
role: gpu and cpu are the profile's sbatch options for jobs with and without GPUs, limits are the profile's limits of
jobs, and the user's own choices are in gpu_type, cpus, memory, minutes, partition, cpu_partition and qos.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...module_utils._core.errors import AccountError
from .table import SLURM_ACCOUNT, SLURM_CPU_ACCOUNT, Settings

GPUS = re.compile(r"(--gres=gpu:|--gpus=|--gpus-per-node=)(?:([A-Za-z0-9_.-]+):)?([0-9]+)\Z")
"""An option that requests GPUs. Groups: the text before type and number; the type, or None; the number."""
MEMORY = re.compile(r"([0-9]+)([KMGT]?)B?\Z", re.IGNORECASE)  # the number and its unit, as Slurm reads them
MODELLED = (
    *("--partition", "--qos", "--account", "--nodes", "--ntasks", "--ntasks-per-node", "--cpus-per-task"),
    *("--mem", "--mem-per-cpu", "--time"),
)
"""Options that a request sets itself, so that a profile's option of the same name is not added as well."""
IMPORT_CPUS = 4  # for a job that imports an image, if memory is given per CPU: packing an image needs memory
FARM_CPUS = 8  # for a job that runs many commands at once, if it does not get a whole node


class SiteOptions(NamedTuple):
    """The options of a profile, such as `--partition=gpu --gres=gpu:a100:1`, in parts.

    named: values of MODELLED options, by option. gpu_option: the text before type and number, such as --gres=gpu:, or
    empty if a job gets its GPUs with the node. gpu_type: empty if the option names no type. others: remaining options.
    """

    named: dict[str, str]
    gpu_option: str
    gpu_type: str
    others: list[str]


class JobDefaults(NamedTuple):
    """The options that all jobs with GPUs, or all jobs without GPUs, have in common.

    The user's settings replace the profile's options. An empty text or 0 means no option. others: further options.
    """

    partition: str
    qos: str
    cpus: int
    memory: str
    others: list[str]


def check_amounts(settings: Settings) -> None:
    """Raise AccountError for a number or a size of memory that no job can request."""
    for name, minimum in (("minutes", 1), ("gpus", 0), ("nodes", 1), ("links", 1), ("cpus", 0)):
        if settings.get(name, minimum) < minimum:
            raise AccountError(f"{name}: {settings[name]} is too small; expected at least {minimum}")
    if settings["memory"] and not MEMORY.match(settings["memory"]):
        raise AccountError(f"memory: {settings['memory']!r} is not a valid size; expected, for example, 32G")


def make_request(settings: Settings, gpus: int, nodes: int) -> list[str]:
    """Return the options, for sbatch and srun, that request a job on some nodes, with some GPUs on each.

    Raise AccountError if the request is impossible.
    """
    defaults = find_job_defaults(settings, has_gpus=gpus > 0)
    _check_partition(settings, defaults.partition, gpus)
    _check_minutes(settings, defaults.partition)
    if gpus:
        _check_gpus(settings, gpus, nodes)
    limits = settings["limits"]
    cpus = defaults.cpus or (limits.get("cpus_per_gpu", 0) * gpus)
    return [
        *([f"--partition={defaults.partition}"] if defaults.partition else []),
        *([f"--qos={defaults.qos}"] if defaults.qos else []),
        f"--account={account_placeholder(settings, gpus)}",
        *defaults.others,
        f"--nodes={nodes}",
        "--ntasks-per-node=1",
        *_gpu_options(settings, gpus, nodes),
        *([f"--cpus-per-task={cpus}"] if cpus else []),
        *_memory_options(limits, defaults.memory, gpus),
        f"--time={settings['minutes']}",
    ]


def make_import_request(settings: Settings) -> list[str]:
    """Return the options of a job that imports an image; the user's settings for cpus and memory do not apply."""
    cpus = IMPORT_CPUS if settings["limits"].get("memory_per_cpu") else 0
    return make_request({**settings, "cpus": cpus, "memory": ""}, gpus=0, nodes=1)


def make_farm_request(settings: Settings) -> list[str]:
    """Return the options of a job without GPUs that runs as many commands at once as it has processors."""
    gets_whole_nodes = settings["limits"].get("whole_nodes", False)
    cpus = find_job_defaults(settings, has_gpus=False).cpus or (0 if gets_whole_nodes else FARM_CPUS)
    return make_request({**settings, "cpus": cpus}, gpus=0, nodes=1)


def gpu_flag(settings: Settings) -> str:
    """Return the option with which Apptainer and Singularity give a container access to GPUs."""
    return "--rocm" if settings["limits"].get("gpu_vendor") == "amd" else "--nv"


def account_placeholder(settings: Settings, gpus: int) -> str:
    """Return the placeholder for the Slurm account, which is looked up on the cluster.

    Slurm accounts with suffixes are separate for jobs with GPUs and jobs without.
    """
    return SLURM_CPU_ACCOUNT if settings["limits"].get("account_suffixes") and not gpus else SLURM_ACCOUNT


def offered_gpus(settings: Settings) -> list[int]:
    """Return the numbers of GPUs that a job can have on one node; empty if unknown. settings: gpu and limits."""
    comes_with_node = not split_site_options(settings["gpu"]).gpu_option
    # the number cannot be chosen if the GPUs come with the node; a job then counts as having one
    return settings["limits"].get("gpus_per_node") or ([1] if comes_with_node else [])


def nearest_offer(settings: Settings, number: int) -> int:
    """Return the largest offered number of GPUs per node up to this number, else the smallest offered number.

    If the site's offers are unknown, return the number itself.
    """
    offered = sorted(offered_gpus(settings))
    return max((count for count in offered if count <= number), default=offered[0] if offered else number)


def split_site_options(options: str) -> SiteOptions:
    """Return the parts of a profile's options for a job with one GPU, or without GPUs.

    >>> split_site_options("--partition=gpu --gres=gpu:a100:1 --exclusive")
    SiteOptions(named={'--partition': 'gpu'}, gpu_option='--gres=gpu:', gpu_type='a100', others=['--exclusive'])
    >>> split_site_options("--partition=gh --nodes=1").gpu_option
    ''
    """
    named, others, gpu_option, gpu_type = {}, [], "", ""
    for option in options.split():
        name, _equals, value = option.partition("=")
        if match := GPUS.match(option):
            gpu_option, gpu_type = match[1], match[2] or ""
        elif name in MODELLED:
            named[name] = value
        else:
            others.append(option)
    return SiteOptions(named, gpu_option, gpu_type, others)


def find_job_defaults(settings: Settings, has_gpus: bool) -> JobDefaults:
    """Return the options of jobs with GPUs, or of jobs without. Raise AccountError for an invalid number."""
    gpu_options, cpu_options = split_site_options(settings["gpu"]), split_site_options(settings["cpu"])
    site = gpu_options if has_gpus else cpu_options
    site_partition = site.named.get("--partition", "")
    has_separate_partitions = any("--partition" in options.named for options in (gpu_options, cpu_options))
    if has_gpus:
        partition = settings["partition"] or site_partition
    else:
        # If the profile names partitions, the user's `partition` is meant for jobs with GPUs
        shared_partition = "" if has_separate_partitions else settings["partition"]
        partition = settings["cpu_partition"] or site_partition or shared_partition
    # the site's QOS belongs to the site's partition
    site_qos = site.named.get("--qos", "") if partition == site_partition else ""
    # for jobs without GPUs, the site's QOS comes first: the user's QOS may be for GPUs
    qos = (settings["qos"] or site_qos) if has_gpus else (site_qos or settings["qos"])
    site_cpus = site.named.get("--cpus-per-task", "0")
    if not site_cpus.isdecimal():
        raise AccountError(f"--cpus-per-task={site_cpus} is not a whole number. Correct this option of the jobs")
    return JobDefaults(
        partition,
        qos,
        settings["cpus"] or int(site_cpus),
        settings["memory"] or site.named.get("--mem", ""),
        site.others,
    )


def _gpu_options(settings: Settings, gpus: int, nodes: int) -> list[str]:
    """Return the option that requests GPUs on each node, if any."""
    site = split_site_options(settings["gpu"])
    if not gpus or not site.gpu_option:
        return []
    # --gpus is the total of a job, which Slurm may distribute unevenly over nodes
    option = "--gpus-per-node=" if site.gpu_option == "--gpus=" and nodes > 1 else site.gpu_option
    gpu_type = settings["gpu_type"] or site.gpu_type
    return [f"{option}{gpu_type + ':' if gpu_type else ''}{gpus}"]


def _memory_options(limits: Settings, memory: str, gpus: int) -> list[str]:
    """Return the option that requests memory: this memory per node, else the site's memory per GPU or CPU, if any."""
    if memory:
        return [f"--mem={memory}"]
    per_gpu, per_cpu = MEMORY.match(limits.get("memory_per_gpu", "")), limits.get("memory_per_cpu")
    if gpus:
        return [f"--mem={int(per_gpu[1]) * gpus}{per_gpu[2]}"] if per_gpu else []
    return [f"--mem-per-cpu={per_cpu}"] if per_cpu else []


def _check_partition(settings: Settings, partition: str, gpus: int) -> None:
    """Raise AccountError if the partition is unknown, or missing although the site requires one."""
    limits, site = settings["limits"], settings["site"]
    partitions: Sequence[str] = limits.get("partitions", [])
    is_users_partition = partition == settings["partition"] != ""
    setting = "partition" if gpus or is_users_partition else "cpu_partition"  # that the user should correct
    if not partition and limits.get("partition_required"):
        jobs = "with GPUs" if gpus else "without GPUs"
        raise AccountError(
            f"{setting}: Slurm has no default partition at {site}. For jobs {jobs}, set {setting} to"
            f" {join_words(partitions) or 'a partition that sinfo lists'}"
        )
    names = [name for name in partition.split(",") if name] if partitions else []  # without a list, all are accepted
    unknown = next((name for name in names if name not in partitions), None)
    if unknown:
        raise AccountError(f"{setting}: {site} has no partition {unknown!r}. Set {setting} to {join_words(partitions)}")


def minutes_by_partition(settings: Settings) -> dict[str, int]:
    """Return the time limits in minutes by partition; the limit of all other partitions has an empty name.

    If the default options name a QOS with a limit, that limit replaces the one of their partition.
    """
    limits = settings["limits"]
    hours = {**limits.get("partition_hours", {}), **({"": limits["hours"]} if "hours" in limits else {})}
    for defaults in (find_job_defaults(settings, has_gpus) for has_gpus in (False, True)):
        if defaults.qos in limits.get("qos_hours", {}):
            hours[defaults.partition] = limits["qos_hours"][defaults.qos]
    return {name: int(number * 60) for name, number in hours.items()}


def _check_minutes(settings: Settings, partition: str) -> None:
    """Raise AccountError if the minutes exceed the limit of the partition.

    partition: one name, several names with commas, or empty for Slurm's default partition.
    """
    site, minutes, limits = settings["site"], settings["minutes"], minutes_by_partition(settings)
    for name in partition.split(","):
        limit = limits.get(name, limits.get("", minutes))  # "": of all other partitions; without a limit, all are valid
        if minutes > limit:
            place = f"in partition {name} at {site}" if name in limits and name else f"at {site}"
            raise AccountError(
                f"minutes: {minutes} is too long; jobs may run for at most {limit} minutes {place}."
                f" Set minutes: {limit}"
            )


def _check_gpus(settings: Settings, gpus: int, nodes: int) -> None:
    """Raise AccountError if the site does not offer this number or type of GPUs, or not on so many nodes."""
    limits, site = settings["limits"], split_site_options(settings["gpu"])
    offered = offered_gpus(settings)
    if offered and gpus not in offered:
        raise AccountError(
            f"gpus: a job at {settings['site']} cannot have {gpus} GPU{'' if gpus == 1 else 's'} on one node."
            f" Set gpus to {join_words(map(str, offered))}"
        )
    if settings["gpu_type"] and not site.gpu_option:
        raise AccountError(f"gpu_type: {settings['site']} does not support this setting. Set partition instead")
    gpu_type, node_counts = settings["gpu_type"] or site.gpu_type, limits.get("gpu_nodes", {})
    available = node_counts.get(gpu_type, nodes)
    if nodes > available:
        larger = [f"{name} ({count} nodes)" for name, count in node_counts.items() if count >= nodes]
        raise AccountError(
            f"nodes: {settings['site']} has only {available} node{'' if available == 1 else 's'} with GPUs of type"
            f" {gpu_type}."
            f" Set nodes to at most {available}{', or gpu_type to ' + join_words(larger) if larger else ''}"
        )


def join_words(words: Iterable[Any]) -> str:
    """Return a list for a sentence, such as "1, 2 or 4"; an empty text without words."""
    *first, last = [str(word) for word in words] or [""]
    return f"{', '.join(first)} or {last}" if first else last
