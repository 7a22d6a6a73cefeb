# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a probed account has shown, read from its texts: nodes of Slurm, quotas, folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...module_utils._slurm.directives import parse_minutes

GPUS = re.compile(r"gpu(?::([A-Za-z0-9_.-]+))?:([0-9]+)")


class Nodes(NamedTuple):
    """Nodes of one kind in a partition. number: of them. gpus: on each, by type; "" is one without a type.

    hours: None is without a limit.
    """

    partition: str
    gpus: dict[str, int]
    number: int
    hours: float | None


class Area(NamedTuple):
    """A folder that was looked at. kind: folder, file, nothing; empty where that could not be seen."""

    path: str
    kind: str
    is_writable: bool


class Observations:
    """The texts of one account by name (module_utils/_audit_checks/site_probe.py), and what Slurm offers it."""

    def __init__(self, texts: Mapping[str, str], slurm: Mapping[str, Any]) -> None:
        self.texts, self.slurm = texts, slurm
        lines = (text for name, text in texts.items() if name.startswith("nodes "))
        self.nodes = [nodes for nodes in map(_read_nodes, lines) if nodes]

    def text(self, name: str) -> str:
        """Return a text; empty if the account did not show it."""
        return self.texts.get(name, "")

    def area(self, name: str) -> Area:
        """Return a folder by the name that it was asked for."""
        return Area(
            self.text(f"area {name} path"), self.text(f"area {name}"), self.text(f"area {name} writable") == "yes"
        )

    def quotas(self, what: str) -> dict[str, int]:
        """Return the limits of bytes or files, by the place that the command names: /home of "/home (user ada)"."""
        start = f"quota {what} "
        places = {name: name.removeprefix(start).partition(" (")[0] for name in self.texts if name.startswith(start)}
        return {place: int(self.texts[name]) for name, place in places.items()}

    def partitions(self) -> list[str]:
        """Return the names of the partitions, also of hidden ones; empty if Slurm was not seen."""
        return sorted({nodes.partition for nodes in self.nodes})

    def gpu_types(self) -> dict[str, int]:
        """Return how many nodes have GPUs of each type. A node of several partitions counts once for each type."""
        found: dict[str, int] = {}
        for partition in self.partitions():
            here: dict[str, int] = {}
            for nodes in self.nodes:
                for name in nodes.gpus if nodes.partition == partition else ():
                    here[name] = here.get(name, 0) + nodes.number
            found = {name: max(found.get(name, 0), here.get(name, 0)) for name in {*found, *here}}
        return found

    def hours(self, partition: str) -> float | None:
        """Return how long a job may last in a partition; None without a limit, or if the partition was not seen."""
        return next((nodes.hours for nodes in self.nodes if nodes.partition == partition), None)


def _read_nodes(line: str) -> Nodes | None:
    """Return a line of `sinfo -o %R|%G|%D|%l`; None for another form."""
    parts = line.split("|")
    if len(parts) != 4 or not parts[2].isdigit():
        return None
    gpus: dict[str, int] = {}
    for name, number in GPUS.findall(re.sub(r"\([^)]*\)", "", parts[1])):
        gpus[name] = gpus.get(name, 0) + int(number)
    minutes = parse_minutes(parts[3])
    return Nodes(parts[0], gpus, int(parts[2]), None if minutes is None else minutes / 60)
