# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counts of the model check at the end of the output."""

from __future__ import annotations

from typing import Any

import pytest

LINES: list[str] = []


@pytest.fixture
def report() -> list[str]:
    """Lines to be printed at the end."""
    return LINES


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print them."""
    if LINES:
        terminalreporter.section("rotation")
        for line in LINES:
            terminalreporter.line(line)
