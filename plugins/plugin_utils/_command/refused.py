# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ends the command before anything was done."""

from __future__ import annotations


class Refused(Exception):
    """What cannot be done as it was typed: what was found, and what to do next. Exit code 2."""
