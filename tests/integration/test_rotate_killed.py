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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .rotation_kills import Cut, Lane
from .rotation_scene import staged

pytestmark = pytest.mark.testbed

LANES = 3
RANDOM = 50
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
def undisturbed(lanes: list[Lane]) -> tuple[list[int], list[float]]:
    """How many records the two runs of a rotation write, and how many seconds they take, all lanes at work."""
    found: dict[int, tuple[list[int], list[float]]] = {}

    def whole(number: int, lane: Lane) -> None:
        new = lane.begin()
        first = lane.run(key=new)
        records = lane.lines()
        lane.stage.registry.revoke(lane.old)
        second = lane.run(rotate_resume=True, rotate_retired=True)
        assert (first.code, second.code) == (0, 0), first.text + second.text
        lane.old = new
        found[number] = ([records, lane.lines() - records], [first.seconds, second.seconds])

    threads = [threading.Thread(target=whole, args=pair) for pair in enumerate(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(lanes)
    assert len({tuple(records) for records, _seconds in found.values()}) == 1, "lanes do not write the same records"
    records, _seconds = found[0]
    seconds = [min(times) for times in zip(*(seconds for _records, seconds in found.values()), strict=True)]
    print(f"undisturbed: {records} records, {seconds[0]:.1f} s and {seconds[1]:.1f} s")
    return records, seconds


def lived(lanes: list[Lane], first: list[Cut], second: list[Cut]) -> None:
    """Live through all cuts, as many at once as there are lanes, and print what they hit."""
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
    threads = [threading.Thread(target=work, args=(lane,)) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = {name: sum(lane.counts.get(name, 0) for lane in lanes) for name in lanes[0].counts}
    said = ", ".join(f"{number} {name}" for name, number in counts.items())
    print(f"killed: {said}; finished: {counts['moments'] - len(failures)}; {time.monotonic() - start:.0f} s")
    assert failures == []
    assert counts["moments"] == len(first) + len(second)


def test_killed_at_every_boundary_between_its_records(lanes: list[Lane], undisturbed: Any) -> None:
    (rotating, retiring), _seconds = undisturbed
    first = [Cut(side, record) for record in range(1, rotating + 1) for side in ("before", "after")]
    second = [Cut(side, record) for record in range(1, retiring + 1) for side in ("before", "after")]
    lived(lanes, first, second)
    assert sum(lane.counts["at work"] for lane in lanes) == len(first) + len(second)


def test_killed_at_moments_spread_over_the_whole_of_it(lanes: list[Lane], undisturbed: Any) -> None:
    _records, (rotating, retiring) = undisturbed
    randomly = random.Random(20261121)
    number = round(RANDOM * rotating / (rotating + retiring))
    lived(lanes, spread(randomly, number, rotating), spread(randomly, RANDOM - number, retiring))
    assert sum(lane.counts["at work"] for lane in lanes) >= RANDOM // 2


def spread(randomly: random.Random, number: int, end: float) -> list[Cut]:
    """So many moments of a run that takes until end, one at random in each part of it."""
    part = (end - EARLIEST) / number
    return [Cut(seconds=EARLIEST + part * (at + randomly.random())) for at in range(number)]
