# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole histories over real accounts: a list of them in each run, and random ones in an exhaustive run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.effort import SEED, exhaustive, turns

from .history import History
from .lab import built
from .steps import random_steps

pytestmark = pytest.mark.testbed

LIST: dict[str, list[list[Any]]] = json.loads((Path(__file__).parent / "histories.json").read_text())
RANDOM, LENGTH = 30, 30


@turns(3)
@pytest.mark.parametrize("name", LIST)
def test_a_history_that_once_failed_holds(bed: Any, tmp_path: Path, name: str) -> None:
    with built(bed, tmp_path) as lab:
        history = History(lab)
        history.live(LIST[name])
        assert history.codes[0] > len(LIST[name]) // 2, f"too few commands did anything: {history.codes}"


@exhaustive
@pytest.mark.parametrize("number", range(RANDOM))
def test_a_random_history_holds(bed: Any, tmp_path: Path, number: int, say: Callable[[str], None]) -> None:
    seed = int(SEED) * RANDOM + number
    say(f"history {seed}: {LENGTH} steps")
    with built(bed, tmp_path) as lab:
        history = History(lab)
        history.live(random_steps(seed, LENGTH))
    say(f"history {seed} held; exit codes {dict(history.codes)}")
