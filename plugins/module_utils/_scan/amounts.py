# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers in words."""


def format_count(number: float, noun: str) -> str:
    """Return '1 file' or '2 files'."""
    return "%d %s%s" % (number, noun, "" if number == 1 else "s")


def format_size(number: float) -> str:
    """Return bytes as '1.5 GB', in units of a thousand."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return "%d %s" % (number, unit) if unit == "bytes" or number >= 100 else "%.1f %s" % (number, unit)
        number /= 1000.0
    return ""
