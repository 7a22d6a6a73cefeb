# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the unit tests share: the collection on the import path, an account in a temporary folder, how hard to look."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.effort import EXHAUSTIVE

CHECKOUT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(CHECKOUT / "collections"))

settings.register_profile(
    "unit",
    deadline=None,
    max_examples=500 if EXHAUSTIVE else 40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("unit")

from account_scene import Scene  # noqa: E402  it needs the path


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """An account of its own, in a folder that stands for the cluster."""
    return Scene(tmp_path / "cluster")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what this machine remembers lies, for a test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "hpc.onboard"
