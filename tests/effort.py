"""How hard the tests look: a sample with a fresh seed in `make test`, all that there is in `make exhaustive`.

HPC_ONBOARD_EXHAUSTIVE=1 takes all. HPC_ONBOARD_SEED=NUMBER takes the sample of a former run, which named its number.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

EXHAUSTIVE = os.environ.get("HPC_ONBOARD_EXHAUSTIVE") == "1"
SEED = os.environ.setdefault("HPC_ONBOARD_SEED", str(random.SystemRandom().randrange(1_000_000)))  # workers inherit it
T = TypeVar("T")

exhaustive = pytest.mark.exhaustive


def chance(*words: object) -> random.Random:
    """Random choices for what the words name: the same ones in every process of a run, others in the next run."""
    return random.Random(f"{SEED} {words}")


def sample(every: Sequence[T], number: int, *words: object) -> list[T]:
    """So many of them, in their order; all of them when everything is looked at."""
    if EXHAUSTIVE or number >= len(every):
        return list(every)
    return [every[at] for at in sorted(chance(*words).sample(range(len(every)), number))]
