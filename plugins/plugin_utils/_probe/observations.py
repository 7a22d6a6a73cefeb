# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The observations of a probed account, parsed from their texts: nodes of Slurm, quotas and folders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...module_utils._slurm.directives import parse_minutes

LEAST_HOURS = 0.25  # of a partition in a profile: the schema of profiles refuses a shorter time
GPUS = re.compile(r"gpu(?::([A-Za-z0-9_.-]+))?:([0-9]+)")  # gpu:TYPE:NUMBER or gpu:NUMBER, in sinfo's output


class Nodes(NamedTuple):
    """Equal nodes in a partition. number: of these nodes. gpus: number on each node, by type; "" without a type.

    hours: the time limit of jobs, rounded, or None without a limit.
    """

    partition: str
    gpus: dict[str, int]
    number: int
    hours: float | None


class Area(NamedTuple):
    """A path that was inspected. kind: folder, file, nothing; or empty if it could not be inspected."""

    path: str
    kind: str
    is_writable: bool


class Observations:
    """The observations of one account: texts by name, and the offers of Slurm. Source: _audit_checks/site_probe.py."""

    def __init__(self, texts: Mapping[str, str], slurm: Mapping[str, Any]) -> None:
        self.texts, self.slurm = texts, slurm
        lines = (text for name, text in texts.items() if name.startswith("nodes "))
        self.nodes = [nodes for nodes in map(_read_nodes, lines) if nodes]

    def text(self, name: str) -> str:
        """Return the text of an observation; empty without this observation."""
        return self.texts.get(name, "")

    def area(self, name: str) -> Area:
        """Return the inspected path with this name in the plan of the probe; its fields are empty without this path."""
        return Area(
            self.text(f"area {name} path"), self.text(f"area {name}"), self.text(f"area {name} writable") == "yes"
        )

    def find_quota(self, unit: str, name: str, path: str) -> int | None:
        """Return the limit of an area, or 0 for no limit; None if no quota applies. unit: bytes or files.

        name, path: of the area. Quota commands name an area by its path, by a path above it, or by a word such as home.
        """
        quotas = self._list_quotas(unit)
        above = [place for place in quotas if place.startswith("/") and f"{path}/".startswith(f"{place.rstrip('/')}/")]
        if path and above:
            return quotas[max(above, key=len)]
        return next((limit for place, limit in quotas.items() if place.strip("/").lower() == name), None)

    def _list_quotas(self, unit: str) -> dict[str, int]:
        """Return the limits of the user's quotas, by the place to which a limit applies.

        The quota command names the place; of "/home (user ada)", only /home is returned. unit: bytes or files.
        """
        prefix = f"quota {unit} "
        places = {name: name.removeprefix(prefix).partition(" (")[0] for name in self.texts if name.startswith(prefix)}
        return {place: int(self.texts[name]) for name, place in places.items()}

    def partitions(self) -> list[str]:
        """Return the names of all partitions, also hidden ones; [] without an answer of Slurm."""
        return sorted({nodes.partition for nodes in self.nodes})

    def count_gpu_nodes(self) -> dict[str, int]:
        """Return the number of nodes by type of GPU; the type is "" if sinfo does not show it.

        Partitions may share nodes, so their numbers are not added up: the largest number of one partition is returned.
        """
        largest_counts: dict[str, int] = {}
        for partition in self.partitions():
            partition_counts: Counter[str] = Counter()
            for nodes in self.nodes:
                if nodes.partition == partition:
                    partition_counts.update(dict.fromkeys(nodes.gpus, nodes.number))
            for gpu_type, number in partition_counts.items():
                largest_counts[gpu_type] = max(largest_counts.get(gpu_type, 0), number)
        return largest_counts

    def hours(self, partition: str) -> float | None:
        """Return the time limit of jobs in a partition; None without a limit, or for an unknown partition."""
        return next((nodes.hours for nodes in self.nodes if nodes.partition == partition), None)


def insert_user(path: str, user: str) -> str:
    """Return a path with {user} in place of the user name, but not inside a word: the user "me" has the home /home/me.

    >>> insert_user("/home/me", "me")
    '/home/{user}'
    """
    return re.sub(rf"(?<![A-Za-z0-9]){re.escape(user)}(?![A-Za-z0-9])", "{user}", path)


def _read_nodes(line: str) -> Nodes | None:
    """Parse a line of `sinfo -o %R|%G|%D|%l`: partition, GPUs, number of nodes, time limit. None if it is invalid."""
    parts = line.split("|")
    if len(parts) != 4 or not parts[2].isdigit():
        return None
    gpus: dict[str, int] = {}
    for gpu_type, number in GPUS.findall(re.sub(r"\([^)]*\)", "", parts[1])):  # without (S:0-1), the sockets
        if int(number):
            gpus[gpu_type] = gpus.get(gpu_type, 0) + int(number)
    minutes = parse_minutes(parts[3])
    return Nodes(parts[0], gpus, int(parts[2]), None if minutes is None else _as_hours(minutes))


def _as_hours(minutes: int) -> float:
    """Return a time limit in hours, as a profile contains it: a whole number, or two decimal places."""
    hours = round(minutes / 60, 2)
    return int(hours) if hours == int(hours) else hours
