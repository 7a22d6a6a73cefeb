# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state folder of a test, and the counts of the model check at the end of the output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LINES: list[str] = []


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the ledger and the labels of this test lie."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "hpc.onboard"


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
