# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a colleague swaps in a shared area meanwhile, nothing of ours or of his is touched but what was meant."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.effort import EXHAUSTIVE, sample

from .swap_works import WORKS, Work
from .swapping import Area, Attack, Contents, Moment, area, contents, harm, taken_by

MOVES = 120_000 if EXHAUSTIVE else 6_000  # for each work
BAITS = ("to-private", "theirs", "private", "to-file")
STEADY = ("folder", "nested", "link", "script", "receipt", "lock")  # what makes the same calls each time

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="two user ids are needed")


def as_it_is(where: Area) -> dict[str, Contents]:
    """All that is watched."""
    return {name: contents(handle) for name, handle in where.watched.items()}


def harmed(where: Area, before: dict[str, Contents]) -> list[str]:
    """What was touched of it."""
    return [
        f"{name}: {text}"
        for name, handle in where.watched.items()
        for text in harm(before[name], handle, name == where.ours)
    ]


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_a_colleague_who_swaps_names_moves_nothing_but_names(
    work: Work, count: Callable[[str, int, int], None]
) -> None:
    with area() as where:
        before = as_it_is(where)
        attack = Attack(where.shared, work.names, BAITS, work.rest)
        try:
            done = 0
            while attack.moves < MOVES or done < work.enough:  # without it the attack would prove nothing
                some, wrong = taken_by(where, lambda there: sum(work.do(there) for _ in range(1 if work.rest else 10)))
                assert not wrong, wrong
                done += some
        finally:
            attack.end()
        found = harmed(where, before)
        moves = attack.moves
    count("names swapped by a colleague", moves, len(found))
    assert not found, "\n".join(found)


def calls_of(work: Callable[[Area], int]) -> int:
    """How many calls to the system it makes when nobody is there."""
    with area() as where:
        return taken_by(where, lambda there: _watched(work, there, Moment("", "", 0, 0)))[0]


def _watched(work: Callable[[Area], int], where: Area, moment: Moment) -> int:
    moment.watch()
    work(where)
    return moment.calls


@pytest.mark.parametrize("name_of_work", STEADY)
def test_no_moment_is_open_to_a_swap(name_of_work: str, count: Callable[[str, int, int], None]) -> None:
    work, names = WORKS[name_of_work][:2]
    moments = [
        (name, bait, at, back)
        for name in names
        for bait in BAITS
        for at in range(1, calls_of(work) + 1)
        for back in (1, 2, 4, 1_000_000)
    ]
    found, taken = [], sample(moments, 40, name_of_work)
    for name, bait, at, back in taken:
        with area() as where:
            before = as_it_is(where)
            moment = Moment(str(where.shared / name), str(where.shared / bait), at, back)
            _calls, wrong = taken_by(where, lambda there, moment=moment: _watched(work, there, moment))
            wrongs = [*harmed(where, before), *([wrong] if wrong else [])]
            found += [f"{bait} as {name} at call {at}, {back}: {text}" for text in wrongs]
    count("names swapped at a certain call", len(taken), len(found))
    assert not found, "\n".join(found)
