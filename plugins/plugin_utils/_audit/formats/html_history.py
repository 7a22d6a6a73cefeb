# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history of audits on the page: one small line for each severity, and the same numbers as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.html_parts import badge, wide
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.shared import (
    moment,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules import SEVERITIES
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.finding import Former, Report

WIDE, HIGH, EDGE = 520, 30, 4
SHOWN = SEVERITIES[:-1]


def history(report: Report) -> Iterator[str]:
    """The section; nothing where this is the first run."""
    runs = [*report["history"], _this(report)]
    if len(runs) < 2:
        return
    yield '<section aria-labelledby="history"><h2 id="history">History</h2><div class="plots">'
    for name in SHOWN:
        yield from _plot(name, [run["by_severity"][name] for run in runs])
    yield f'<p class="axis"><span>{runs[0]["started"][:10]}</span><span>{runs[-1]["started"][:10]}</span></p></div>'
    yield "<details><summary>The numbers</summary>"
    yield from wide(
        "History", "plain figures", ("run", "accounts", "not measured", *SEVERITIES), map(_row, reversed(runs))
    )
    yield "</details></section>"


def _this(report: Report) -> Former:
    """This run as the next one will tell of it."""
    summary = report["summary"]
    return {
        "started": report["run"]["started"],
        "accounts": summary["accounts"],
        "not_measured": summary["not_measured"],
        "by_severity": summary["by_severity"],
    }


def _row(run: Former) -> str:
    numbers = (run["accounts"], run["not_measured"], *(run["by_severity"][name] for name in SEVERITIES))
    cells = "".join(f"<td>{number:,}</td>" for number in numbers)
    return f'<th scope="row">{escape(moment(run["started"]))}</th>{cells}'


def _plot(name: str, numbers: Sequence[int]) -> Iterator[str]:
    """A line in steps, since nothing is known between two runs; its last point is this one."""
    most = max(*numbers, 1)
    across = (WIDE - 2 * EDGE) / (len(numbers) - 1)
    points = [
        (EDGE + at * across, HIGH - EDGE - (HIGH - 2 * EDGE) * number / most) for at, number in enumerate(numbers)
    ]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:]) + f"h{EDGE}"
    told = f"{name}: {numbers[-1]:,} now, at most {most if any(numbers) else 0:,} in {len(numbers)} runs"
    yield f'<div class="plot {name}">{badge(name)}'
    yield f'<svg viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none" role="img" aria-label="{told}">'
    yield f'<path class="base" d="M0 {HIGH - EDGE}H{WIDE}"/><path class="line" d="{path}"/></svg>'
    yield f'<span class="now">{numbers[-1]:,}</span><span class="most">most {max(numbers):,}</span></div>'
