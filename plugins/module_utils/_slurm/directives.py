# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The #SBATCH lines of a script, compared with the partitions that Slurm lists."""

import re
from typing import Any, Mapping, Optional

LINE = re.compile(r"^#SBATCH[ \t]+(.+)", re.MULTILINE)
TIME = re.compile(r"(?:[0-9]+-[0-9]+(?::[0-9]+){0,2}|[0-9]+(?::[0-9]+){0,2})\Z")


def check_directives(offers: Mapping[str, Any], script: str) -> Optional[str]:
    """Return why Slurm refuses the partition of a job script, and what to write; None if it does not, or is unknown."""
    words = " ".join(LINE.findall(script)).replace("=", " ").split()
    options = dict(zip(words, words[1:]))  # the last one counts
    longest = {one["name"]: one.get("minutes") for one in offers.get("partitions") or []}
    if not words or not longest or "--clusters" in options or "-M" in options:
        return None
    named = (options.get("--partition") or options.get("-p") or offers.get("default_partition") or "").split(",")
    advice = " (available to you: %s). Set 'job_scripts: {partition: NAME}' in the accounts file" % ", ".join(longest)
    advice += ", or cpu_partition for jobs without a GPU"
    if named == [""]:
        is_refused = offers.get("default_partition") == ""
        return "Slurm has no default partition here, and the job names none" + advice if is_refused else None
    unknown = next((name for name in named if name not in longest), None)
    if unknown:
        return "Slurm lists no partition '%s'" % unknown + advice
    limits = [longest[name] or 0 for name in named]
    asked = parse_minutes(options.get("--time") or options.get("-t") or "") or 0
    if (
        asked <= max(limits) or 0 in limits or "--qos" in options or "-q" in options
    ):  # a QOS may have a limit of its own
        return None
    why = "a job in partition %s lasts %d minutes at most, and this one asks for %d. Set 'job_scripts: {minutes: %d}'"
    return why % (", ".join(named), max(limits), asked, max(limits)) + " in the accounts file, or another partition"


def parse_minutes(limit: str) -> Optional[int]:
    """Return a time of Slurm in minutes, rounded up, or None if it is unlimited or invalid.

    >>> [parse_minutes(one) for one in ("90", "30:30", "8:00:00", "1-12", "2-00:30:00", "infinite")]
    [90, 31, 480, 2160, 2910, None]
    """
    if not TIME.match(limit):
        return None
    days, dash, rest = limit.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash or len(parts) == 3:
        hours, minutes, seconds = (parts + [0, 0])[:3]
    else:
        hours, (minutes, seconds) = 0, (parts + [0])[:2]
    return (int(days or 0) * 24 + hours) * 60 + minutes + (1 if seconds else 0)
