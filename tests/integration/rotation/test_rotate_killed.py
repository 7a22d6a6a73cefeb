# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation is killed, at every boundary between its steps and at moments between them; the next run finishes it.

What may be found on an account after a kill is the new key or the exact old file, nothing else.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import random
import threading
import time
from bisect import bisect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.effort import EXHAUSTIVE, chance, sample, turns

from .rotation_kills import Cut, Lane
from .rotation_scene import staged

pytestmark = [pytest.mark.testbed, turns(2)]  # each lives through whole rotations, and makes what it needs anew

LANES = 3 if EXHAUSTIVE else 2
BOUNDARIES = 3  # of each run, in a sample
RANDOM = 50 if EXHAUSTIVE else 2
EARLIEST = 0.3  # seconds
Job = tuple[Cut, Cut | None]


@pytest.fixture(scope="module")
def lanes(bed: Any, tmp_path_factory: Any) -> Iterator[list[Lane]]:
    with contextlib.ExitStack() as stack:
        made = []
        for _lane in range(LANES):
            folder = Path(tmp_path_factory.mktemp("lane"))
            made.append(Lane.of(stack.enter_context(staged(bed, folder, ("lrz", "dfki", "wilson")))))
        yield made


@pytest.fixture(scope="module")
def undisturbed(lanes: list[Lane]) -> list[list[float]]:
    """When each of the two runs of a rotation writes its records, and when it ends (seconds), all lanes at work."""
    found: dict[int, list[list[float]]] = {}

    def whole(number: int, lane: Lane) -> None:
        new = lane.begin()
        first = lane.run(key=new)
        lane.stage.registry.revoke(lane.old)
        second = lane.run(rotate_resume=True, rotate_retired=True)
        assert (first.code, second.code) == (0, 0), first.text + second.text
        lane.old = new
        found[number] = [first.times, second.times]

    at_once([lambda pair=pair: whole(*pair) for pair in enumerate(lanes)])
    assert len(found) == len(lanes)
    assert len({tuple(map(len, runs)) for runs in found.values()}) == 1, "not all lanes write the same records"
    for times in found[0]:
        print(f"undisturbed: {len(times) - 1} records in {times[-1]:.1f} s")
    return found[0]


def at_once(works: list[Callable[[], None]]) -> None:
    """Do all of them, each in a thread."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def lived(lanes: list[Lane], first: list[Cut], second: list[Cut], say: Callable[[str], None]) -> None:
    """Live through all cuts, as many at once as there are lanes, and say what they hit."""
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in itertools.zip_longest(first, second):
        jobs.put((job[0], job[1]))
    failures: list[str] = []
    for lane in lanes:
        lane.counts.clear()

    def work(lane: Lane) -> None:
        while True:
            try:
                job = jobs.get_nowait()
            except queue.Empty:
                return
            try:
                lane.live(*job)
            except BaseException as error:
                failures.append(f"{job}: {error!r}")
                return  # its accounts are in no state to go on with

    start = time.monotonic()
    at_once([lambda lane=lane: work(lane) for lane in lanes])
    counts = {name: sum(lane.counts.get(name, 0) for lane in lanes) for name in lanes[0].counts}
    said = ", ".join(f"{number} {name}" for name, number in counts.items())
    say(f"rotations killed: {said}; finished: {counts['moments'] - len(failures)}; {time.monotonic() - start:.0f} s")
    assert failures == []
    assert counts["moments"] == len(first) + len(second)


def test_killed_at_boundaries_between_its_records(
    lanes: list[Lane], undisturbed: list[list[float]], say: Callable[[str], None]
) -> None:
    first, second = (
        [Cut(side, record) for record in range(1, len(times)) for side in ("before", "after")] for times in undisturbed
    )
    first, second = sample(first, BOUNDARIES, "first run"), sample(second, BOUNDARIES // 2, "second run")
    lived(lanes, first, second, say)
    assert sum(lane.counts["at work"] for lane in lanes) == len(first) + len(second)


def test_killed_at_moments_spread_over_the_whole_of_it(
    lanes: list[Lane], undisturbed: list[list[float]], say: Callable[[str], None]
) -> None:
    randomly = chance("moments")
    whole = sum(times[-1] for times in undisturbed)
    first, second = (spread(randomly, max(1, round(RANDOM * times[-1] / whole)), times) for times in undisturbed)
    lived(lanes, first, second, say)
    assert not EXHAUSTIVE or sum(lane.counts["with some accounts done"] for lane in lanes) > 0


def spread(randomly: random.Random, number: int, times: list[float]) -> list[Cut]:
    """So many moments of a run, one at random in each part of it, as time after the record before."""
    part = (times[-1] - EARLIEST) / number
    moments = [EARLIEST + part * (at + randomly.random()) for at in range(number)]
    records = [bisect(times[:-1], moment) for moment in moments]
    return [
        Cut("at", record, moment - (times[record - 1] if record else 0.0))
        for record, moment in zip(records, moments, strict=True)
    ]
