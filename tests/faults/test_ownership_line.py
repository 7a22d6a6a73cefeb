# SPDX-License-Identifier: GPL-3.0-or-later
"""offboard(onboard(x)) = x, whatever the line does, and whoever else is at work.

The real command and the real payload, as ssh would hand them on: the request ends after so many bytes, or nobody takes
more than so many bytes of the answer, of an onboarding or of an offboarding; and two login nodes are at work at once.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.effort import EXHAUSTIVE, chance, sample, turns

from .harness import CALM, FAILURES, Writer, snapshot, writing
from .test_ownership import HOMES, WAYS, Home, different, entries, laid_out, offboarded, plan, set_up

table = importlib.import_module("ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table")
payload = importlib.import_module("ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.payload")

CUTS = 24  # in each direction, of each of both
ROUNDS = 60 if EXHAUSTIVE else 4


def request(writer: Writer, way: str) -> bytes:
    """All that goes into standard input, one way or the other."""
    return bytes(payload.build_payload(WAYS[way](writer), table.PLACES))


def said(home: Home, sent: bytes, taken: int | None = None) -> bytes:
    """Run the command with this on its standard input; what it answered, of which no more is taken than that."""
    command = ["/bin/sh", "-c", payload.build_command(sys.executable, [])]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, umask=home.umask, env=CALM) as process:  # type: ignore[call-overload]
        process.stdin.write(sent)
        process.stdin.close()
        return bytes(process.stdout.read() if taken is None else process.stdout.read(taken))


def spread(length: int, *words: object) -> list[int]:
    """Places to cut at: the first and the last byte, and others in each part between."""
    step = length / (CUTS - 2)
    inner = [int(step * (part + chance(*words, part).random())) for part in range(CUTS - 2)]
    return sample(sorted({0, length - 1, *inner}), 3, *words)


def cut(writer: Writer, home: Home, way: str, sent: bytes, taken: int | None, again: bool) -> Iterator[str]:
    """What is wrong after a line that was cut there; again: the same is run once more before all is taken out."""
    before = set_up(writer, home, way)
    there = snapshot(writer.root)
    said(home, sent, taken)
    if taken is None:
        yield from (f"done in part: {text}" for text in different(there, snapshot(writer.root)))
    if again:
        writer.run(WAYS[way](writer), home.umask)
    problems = offboarded(writer)
    if problems:
        yield f"offboarding said {problems}"
    yield from different(before, snapshot(writer.root))


@turns(6)
@pytest.mark.parametrize("home", HOMES, ids=[home.name for home in HOMES])
@pytest.mark.parametrize("way", ["onboarding", "offboarding"])
@pytest.mark.parametrize("end", ["request", "answer"])
def test_what_a_cut_line_left_is_taken_out(
    end: str, way: str, home: Home, count: Callable[[str, int, int], None]
) -> None:
    with writing() as writer:
        laid_out(writer, home)
        whole = request(writer, way)
        places = spread(len(whole if end == "request" else said(home, whole)), end, way, home.name)
        cuts = [(whole[:at], None) if end == "request" else (whole, at) for at in places]
        found = [
            f"{end} cut after {at} bytes: {text}"
            for number, (at, one) in enumerate(zip(places, cuts, strict=True))
            for text in cut(writer, home, way, *one, bool(number % 2))
        ]
    count(f"{way}s whose {end} was cut, then offboarded", len(places), len(found))
    assert not found, "\n" + "\n".join(found)


def together(one: Writer, other: Writer, home: Home, ways: tuple[str, str]) -> Iterator[str]:
    """What is wrong after two runs at once on one home, from two login nodes."""
    before = laid_out(one, home)
    if "offboarding" in ways and chance(home.name, ways).random() < 0.5:
        one.run(plan(one, entries()), home.umask)
    plans = [WAYS[way](one) for way in ways]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda each: each[0].run(each[1], home.umask), zip((one, other), plans, strict=True)))
    for way, answer in zip(ways, answers, strict=True):
        bad = [each for each in answer["outcomes"] if each["status"] in FAILURES]
        yield from (f"the {way} said {each['identity']}: {each['reason']}" for each in bad)
        unnoted = (answer["receipt"] or {}).get("problem")
        yield from (f"the {way} said {problem}" for problem in (answer["error"], unnoted) if problem)
    if ways == ("onboarding", "onboarding"):
        again = {each["status"] for each in one.run(plan(one, entries()), home.umask)["outcomes"]}
        yield from [f"not all is in place after two onboardings: {again}"] * (again != {"ok"})
    problems = offboarded(one)
    if problems:
        yield f"offboarding said {problems}"
    yield from different(before, snapshot(one.root))


@turns(6)
@pytest.mark.parametrize("home", HOMES, ids=[home.name for home in HOMES])
@pytest.mark.parametrize("other", ["onboarding", "offboarding"])
def test_what_two_login_nodes_made_at_once_is_taken_out(
    other: str, home: Home, count: Callable[[str, int, int], None]
) -> None:
    with writing() as first, writing() as second:
        found = [text for _round in range(ROUNDS) for text in together(first, second, home, ("onboarding", other))]
    count(f"onboardings beside an {other} from another login node, then offboarded", ROUNDS, len(found))
    assert not found, "\n" + "\n".join(found)
