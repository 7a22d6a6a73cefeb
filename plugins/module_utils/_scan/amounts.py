# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers as a person says them."""


def count(number: float, noun: str) -> str:
    """'1 file', '2 files'."""
    return "%d %s%s" % (number, noun, "" if number == 1 else "s")


def size(number: float) -> str:
    """Bytes as a person reads them: 1.5 GB; units of a thousand."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return "%d %s" % (number, unit) if unit == "bytes" or number >= 100 else "%.1f %s" % (number, unit)
        number /= 1000.0
    return ""
