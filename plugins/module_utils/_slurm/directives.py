# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a job script's #SBATCH lines against the partitions that Slurm offers."""

import re
from typing import Any, Mapping, Optional

# a line of a job script; group: the options of sbatch, without a comment
_OPTIONS = r"#SBATCH[ \t]+(.*?)(?:[ \t]#.*)?"
DIRECTIVE = re.compile(_OPTIONS + r"(?:\n|\Z)")
LINE = re.compile("^%s$" % _OPTIONS, re.MULTILINE)
SHORT = re.compile(r"(?<!\S)(-[a-zA-Z])(?=[^\s-])")  # a short option, which may be written without a space, as in -pgpu
# DAYS-HOURS[:MINUTES[:SECONDS]], or MINUTES[:SECONDS], or HOURS:MINUTES:SECONDS
TIME = re.compile(r"(?:[0-9]+-[0-9]+(?::[0-9]+){0,2}|[0-9]+(?::[0-9]+){0,2})\Z")
PARTITION_ADVICE = "Set 'job_scripts: {partition: NAME}' in the accounts file (cpu_partition for jobs without a GPU)"


def check_directives(offers: Mapping[str, Any], script: str) -> Optional[str]:
    """Return why Slurm would reject the partition or time of a job script, and the fix; None if accepted or unknown.

    offers: what Slurm offers to the user (see Document in offers.py). script: the text of the job script.
    """
    words = SHORT.sub(r"\1 ", re.sub("[=\"']", " ", " ".join(LINE.findall(script)))).split()
    options = dict(zip(words, words[1:]))  # each word with the word after it: the last value of an option counts
    time_limits = {partition["name"]: partition.get("minutes") for partition in offers.get("partitions") or []}
    is_for_another_cluster = "--clusters" in options or "-M" in options  # the offers are those of this cluster
    if not words or not time_limits or is_for_another_cluster:  # no directive, or nothing to compare it with
        return None
    requested = (options.get("--partition") or options.get("-p") or offers.get("default_partition") or "").split(",")
    available = ", ".join(time_limits)
    if requested == [""]:  # the script names no partition
        if offers.get("default_partition") == "":
            text = "Slurm has no default partition on this cluster, so the job must name one (available to you: %s). %s"
            return text % (available, PARTITION_ADVICE)
        return None  # None: it is unknown whether Slurm has a default partition
    unknown_name = next((name for name in requested if name not in time_limits), None)
    if unknown_name:
        text = "Slurm does not list the partition '%s' (available to you: %s). %s"
        return text % (unknown_name, available, PARTITION_ADVICE)
    limits = [time_limits[name] or 0 for name in requested]  # 0: no limit
    minutes = parse_minutes(options.get("--time") or options.get("-t") or "") or 0  # 0: none, or unknown
    has_qos = "--qos" in options or "-q" in options  # a QOS may have a time limit of its own
    is_unlimited = 0 in limits
    if minutes <= max(limits) or is_unlimited or has_qos:  # the job may start in any of the requested partitions
        return None
    text = (
        "partition %s allows at most %d minutes, but the job requests %d minutes. Set 'job_scripts: {minutes: %d}' in"
        " the accounts file, or choose another partition"
    )
    return text % (" or ".join(requested), max(limits), minutes, max(limits))


def parse_minutes(limit: str) -> Optional[int]:
    """Return a Slurm time in minutes, rounded up, or None if unlimited or invalid.

    >>> [parse_minutes(limit) for limit in ("90", "30:30", "8:00:00", "1-12", "2-00:30:00", "infinite")]
    [90, 31, 480, 2160, 2910, None]
    """
    if not TIME.match(limit):  # such as "infinite", or a variable
        return None
    days, dash, rest = limit.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash or len(parts) == 3:  # the first number is hours
        hours, minutes, seconds = (parts + [0, 0])[:3]
    else:  # the first number is minutes
        hours, minutes, seconds = ([0] + parts + [0])[:3]
    return (int(days or 0) * 24 + hours) * 60 + minutes + (1 if seconds else 0)
