# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts and sizes as messages show them."""


def format_count(number: float, noun: str) -> str:
    """Return a number with its noun in singular or plural, such as '1 file' or '2 files'."""
    return "%d %s%s" % (number, noun, "" if number == 1 else "s")


def format_size(number: float) -> str:
    """Return a number of bytes in decimal units, such as '1.5 GB'."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return "%d %s" % (number, unit) if unit == "bytes" or number >= 100 else "%.1f %s" % (number, unit)
        number /= 1000.0
    return ""  # never reached, because the loop returns at TB
