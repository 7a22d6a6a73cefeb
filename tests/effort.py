"""How hard the tests look: a sample with a fresh seed in `make test`, all that there is in `make exhaustive`.

HPC_ONBOARD_EXHAUSTIVE=1 takes all. HPC_ONBOARD_TURNS=all takes every test, with samples of what each goes through.
HPC_ONBOARD_SEED=NUMBER takes the sample of a former run, which named its number. Eight runs whose numbers follow each
other take every module of the slow tests once.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

EXHAUSTIVE = os.environ.get("HPC_ONBOARD_EXHAUSTIVE") == "1"
EVERY_TEST = EXHAUSTIVE or os.environ.get("HPC_ONBOARD_TURNS") == "all"
SEED = os.environ.setdefault("HPC_ONBOARD_SEED", str(random.SystemRandom().randrange(1_000_000)))  # workers inherit it
T = TypeVar("T")

exhaustive = pytest.mark.exhaustive
"""This test is taken by an exhaustive run alone."""


def turns(number: int) -> pytest.MarkDecorator:
    """One in so many takes part in a run, at least one: of a test's parameters, or of the module's tests."""
    return pytest.mark.turns(number)


def chance(*words: object) -> random.Random:
    """Random choices for what the words name: the same ones in every process of a run, others in the next run."""
    return random.Random(f"{SEED} {words}")


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """The tests that this run does not take."""
    only_there = set() if EXHAUSTIVE else {item for item in items if item.get_closest_marker("exhaustive")}
    if EVERY_TEST:
        return only_there
    groups: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("turns")
        if mark and item not in only_there:  # those take no turn from the others
            own = mark in item.own_markers  # of the test, not of its module
            groups.setdefault((item.nodeid.partition("[" if own else "::")[0], mark.args[0]), []).append(item)
    waiting = {item for group in groups.values() for item in group}
    taken = {item for (name, number), group in groups.items() for item in sample(group, -(-len(group) // number), name)}
    return only_there | (waiting - taken)


MAIN_WAYS = (
    "golden/test_screens.py",
    "integration/audit/test_audit_fix.py",
    "integration/jobs/test_six_systems.py",
    "integration/onboard/test_offboard.py",
    "integration/onboard/test_onboard.py",
    "integration/rotation/test_rotate.py",
    "integration/tutorials/test_tutorial_accounts.py",
)
"""Modules of the slow tests that take part in each run: what every user does."""
SHARE = 8


def slow_modules(tests: Path) -> list[str]:
    """Return the modules of the slow tests for this run: MAIN_WAYS, and one in SHARE of the others; else all.

    Neighbours in a folder test similar things, so each of them is in another run.
    """
    fast = ("unit", "packages")
    every = sorted(path for path in tests.rglob("test_*.py") if path.relative_to(tests).parts[0] not in fast)
    main = [tests / name for name in MAIN_WAYS]
    others = [path for path in every if path not in main]
    return [str(path) for path in (every if EVERY_TEST else main + others[int(SEED) % SHARE :: SHARE])]


def sample(every: Sequence[T], number: int, *words: object) -> list[T]:
    """So many of them, in their order; all of them when everything is looked at."""
    if EXHAUSTIVE or number >= len(every):
        return list(every)
    return [every[at] for at in sorted(chance(*words).sample(range(len(every)), number))]


SITES = ("daint", "dfki", "dfki_pegasus", "lrz", "narval", "wilson", "cirrus", "frontier", "iris", "trillium", "vista")
"""The clusters of the five documents, and some of each kind; an exhaustive run takes every profile that ships."""


def clusters(every: Sequence[str]) -> list[str]:
    """The clusters that a run goes through: the same ones in each, so that a failure is not one of the sample."""
    return list(every) if EXHAUSTIVE else [name for name in every if name in SITES]
