# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounts set up by hand from the five tutorials: what is the user's own stays so; over real ssh."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.effort import exhaustive

from .life import Life

pytestmark = pytest.mark.testbed

LOOKS = ("plan", "preflight", "audit")
USUAL = ("replace", "audit", "fix", "offboard")
ORDERS = [
    ("onboard", "offboard"),
    ("onboard", "replace", "audit", "fix", "onboard", "offboard"),
    ("audit", "fix", "offboard"),
    ("audit", "fix", "onboard", "offboard"),
    ("audit", "fix", "replace", "offboard"),
    ("onboard", "audit", "fix", "offboard"),
    ("onboard", "audit", "fix", "replace", "audit", "fix", "offboard"),
    ("replace", "audit", "offboard", "fix"),
    ("replace", "offboard", "replace", "offboard"),
    ("replace", "audit", "fix", "offboard", "audit", "fix", "onboard", "offboard"),
]


@pytest.fixture
def life(bed: Any, tmp_path: Path) -> Life:
    """Five accounts, lived in."""
    return Life(bed, tmp_path)


def lived(life: Life, order: tuple[str, ...]) -> None:
    """Take the steps, and look after each that no key is lost, and at the end that all is the user's as before."""
    for step in order:
        ran = life.take(step)
        assert ran.code in (0, 2), ran.text
        assert life.lost_keys() == [], (step, ran.text)
    for found in (life.changed(), life.left()):
        assert not found, "\n".join([str(order), *found])


def test_looks_write_nothing_and_a_life_gives_everything_back(life: Life, say: Callable[[str], None]) -> None:
    for look in ("plan", "audit"):
        ran = life.take(look)
        assert ran.code in (0, 2), ran.text
        assert life.trees() == life.before, look
    lived(life, USUAL)
    entries = sum(map(len, life.before.values()))
    say(f"entries of accounts that followed the tutorials, the user's own after all: {entries}")
    assert entries >= 207


@exhaustive
@pytest.mark.parametrize("look", LOOKS)
def test_a_look_touches_no_entry(life: Life, look: str) -> None:
    assert life.take(look).code in (0, 2)
    assert life.trees() == life.before


@exhaustive
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_any_order_gives_everything_back(life: Life, order: tuple[str, ...]) -> None:
    lived(life, order)
