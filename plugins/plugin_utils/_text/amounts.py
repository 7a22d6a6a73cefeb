# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers as text for users: durations, progress, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress

UNITS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def format_duration(seconds: float) -> str:
    """Return a duration: '12 s', '3 min 05 s', or without seconds '2 h 10 min'."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def format_progress(progress: JobProgress) -> str:
    """Return the progress of a job: '12/98 MB', '3/5', or '12 MB' without a total; empty if it is unknown.

    progress: bytes or steps that are done, and their total; each is None if it is unknown.
    """
    done, total = progress["done"], progress["total"]
    if done is None:
        return ""
    if progress["unit"] != "bytes":  # a number of steps
        return f"{done:g}/{total:g}" if total else f"{done:g}"
    unit, size = next(((unit, size) for unit, size in UNITS if (total or done) >= size), ("bytes", 1))
    return f"{done / size:.0f}/{total / size:.0f} {unit}" if total else f"{done / size:.0f} {unit}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: '1 account', '2 accounts'."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def describe_duration(seconds: float | None) -> str:
    """Return the time of a run as format_duration does; empty if the time is unknown or shorter than a second."""
    return "" if seconds is None or seconds < 1 else format_duration(seconds)
