# SPDX-License-Identifier: GPL-3.0-or-later
"""The counts, at the end of the output even when everything passes."""

from __future__ import annotations

from typing import Any

from . import tally


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print them."""
    if tally.COUNTS:
        terminalreporter.section("faults")
        terminalreporter.line(tally.line())
