# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers as a person says them: how long, how much of how much, how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress

UNITS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def amount(progress: JobProgress) -> str:
    """'12/98 MB', '3/5', '12 MB', or nothing where nothing is known."""
    done, total = progress["done"], progress["total"]
    if done is None:
        return ""
    if progress["unit"] != "bytes":
        return f"{done:g}/{total:g}" if total else f"{done:g}"
    unit, factor = next(((unit, size) for unit, size in UNITS if (total or done) >= size), ("bytes", 1))
    return f"{done / factor:.0f}/{total / factor:.0f} {unit}" if total else f"{done / factor:.0f} {unit}"


def count(number: int, noun: str) -> str:
    """'1 account', '2 accounts'."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
