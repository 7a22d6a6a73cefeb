# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts and sizes as messages show them."""


def format_count(number: float, noun: str) -> str:
    """Return a number with its noun in singular or plural, such as '1 file' or '2 files'."""
    return "%d %s%s" % (number, noun, "" if number == 1 else "s")


def format_size(number: float) -> str:
    """Return a number of bytes in decimal units, such as '1.5 GB'."""
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while number >= 1000 and len(units) > 1:
        number /= 1000.0
        units.pop(0)
    if units[0] == "bytes":
        return format_count(number, "byte")
    return ("%d %s" if number >= 100 else "%.1f %s") % (number, units[0])
