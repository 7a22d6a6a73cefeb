# SPDX-License-Identifier: GPL-3.0-or-later
"""Which seeded bugs were put in, and whether each was caught; printed at the end of the tests."""

from __future__ import annotations

ALL: list[tuple[str, bool]] = []
