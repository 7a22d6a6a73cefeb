# SPDX-License-Identifier: GPL-3.0-or-later
"""The count, at the end of the output even when everything passes."""

from __future__ import annotations

from typing import Any

from . import caught


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print it."""
    if caught.ALL:
        terminalreporter.section("seeded bugs")
        terminalreporter.line(f"seeded bugs caught: {sum(ok for _, ok in caught.ALL)} of {len(caught.ALL)}")
