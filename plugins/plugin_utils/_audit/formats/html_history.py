# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history of audits on the page: one small line for each severity, and the same numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..._documents.finding import AuditReport, FormerAudit
from ..rules.catalogue import SEVERITIES

WIDE, HIGH, EDGE = 520, 30, 4  # of a line, in units of its own
SHOWN = SEVERITIES[:-1]


class Plot(NamedTuple):
    """The line of one severity: its size, its paths as SVG writes them, and what it says."""

    severity: str
    base: str
    line: str
    told: str
    now: int
    most: int
    wide: int = WIDE
    high: int = HIGH


def plots(report: AuditReport) -> list[Plot]:
    """The lines; none where this is the first run."""
    every = runs(report)[::-1]
    return [_plot(name, [run["by_severity"][name] for run in every]) for name in SHOWN] if len(every) > 1 else []


def runs(report: AuditReport) -> list[FormerAudit]:
    """This run and all that it remembers, the last one first."""
    return [_this(report), *reversed(report["history"])]


def _this(report: AuditReport) -> FormerAudit:
    """This run as the next one will tell of it."""
    summary = report["summary"]
    return {
        "started": report["run"]["started"],
        "accounts": summary["accounts"],
        "unknown": summary["unknown"],
        "by_severity": summary["by_severity"],
        "new": summary["new"],
        "resolved": summary["resolved"],
    }


def _plot(name: str, numbers: Sequence[int]) -> Plot:
    """A line in steps, since nothing is known between two runs; its last point is this one."""
    most = max(*numbers, 1)
    across = (WIDE - 2 * EDGE) / (len(numbers) - 1)
    points = [
        (EDGE + at * across, HIGH - EDGE - (HIGH - 2 * EDGE) * number / most) for at, number in enumerate(numbers)
    ]
    line = f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:]) + f"h{EDGE}"
    told = f"{name}: {numbers[-1]:,} now, at most {most if any(numbers) else 0:,} in {len(numbers)} runs"
    return Plot(name, f"M0 {HIGH - EDGE}H{WIDE}", line, told, numbers[-1], max(numbers))
