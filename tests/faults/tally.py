# SPDX-License-Identifier: GPL-3.0-or-later
"""How many faults were injected and how many promises they broke; printed at the end of the tests."""

from __future__ import annotations

COUNTS: dict[str, list[int]] = {}


def add(what: str, points: int, violations: int) -> None:
    """Count some more points of a kind."""
    count = COUNTS.setdefault(what, [0, 0])
    count[0] += points
    count[1] += violations


def line() -> str:
    """All counts, in one line."""
    return "; ".join(f"{what}: {points:,}, violations: {broken}" for what, (points, broken) in COUNTS.items())
