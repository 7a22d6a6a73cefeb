# SPDX-License-Identifier: GPL-3.0-or-later
"""Drift that was planted, one thing at a time on every account: the audit says it, and what it says to do fixes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import Fix, describe_fix, render_in_one_line

from tests.effort import EXHAUSTIVE

from .audit_scene import Audit, Scene
from .drifts import DRIFTS
from .planting import ACCOUNTS, Planted, by_hand, plant, planting_scene, restore, rounds, unasked

pytestmark = pytest.mark.testbed


class Result(NamedTuple):
    """What came of it."""

    planted: Planted
    found: list[str]
    places: list[str]
    fixes: list[str]
    fixed: str


@pytest.fixture(scope="module")
def scene(bed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with planting_scene(bed, tmp_path_factory.mktemp("drift"), ACCOUNTS) as made:
        yield made


def fixed(scene: Scene, planted: Planted, fixes: list[Fix]) -> str:
    """Do what the fixes say, a command as it stands and a sentence by hand; what went wrong thereby."""
    problems = []
    by_hand(planted)
    for fix in fixes:
        for number, part in enumerate(describe_fix(fix)):
            if part.is_command:
                done = scene.pasted(unasked(part.text))
                problems += [f"{part.text}: {done.stdout[-800:]}{done.stderr[-300:]}"] if done.returncode else []
            elif number < len(fix) - 1 and not planted.drift.by_hand:
                problems.append(f"a sentence, and nothing to do by hand: {part.text}")
    return "; ".join(problems)


def different(fixes: Iterable[Fix]) -> list[Fix]:
    """Each fix once, always in the same order."""
    return [fix for _text, fix in sorted({render_in_one_line(fix): fix for fix in fixes}.items())]


def results(scene: Scene, planted: list[Planted], audit: Audit, again: Audit, problems: list[str]) -> Iterator[Result]:
    for one, problem in zip(planted, problems, strict=True):
        found = sorted(f"{f['rule']} {f['class']} {f['cause']} {f['severity']}" for f in audit.of(one.account))
        left = [f"still {f['rule']}: {f['text']}" for f in again.of(one.account)]
        fixes = sorted({f"{f['text']} | {render_in_one_line(f['fix'])}" for f in audit.of(one.account)})
        places = [f["place"] for f in audit.of(one.account) if f["place"]]
        yield Result(one, found, places, fixes, "; ".join([problem] * bool(problem) + left))


def is_right(result: Result) -> bool:
    """Whether the findings are those of the drift, and where it is."""
    drift, place = result.planted.drift, result.planted.words(result.planted.drift.place)
    in_place = not place or (bool(result.places) and all(one.startswith(place) for one in result.places))
    return result.found == sorted(drift.finds) and in_place


def line(result: Result) -> str:
    drift, found = result.planted.drift, ", ".join(dict.fromkeys(result.found)) or "nothing"
    wanted = f"WANTED {', '.join(drift.finds)} at {drift.place or 'any place'}, not {result.places}"
    right = "as expected" if is_right(result) else wanted
    return f"{result.planted.account.cluster.name:8} {drift.name:58} {found:36} {right:12} {result.fixed or 'fixed'}"


def test_each_drift_is_found_alone_and_fixed_by_what_its_finding_says(scene: Scene, say: Callable[[str], None]) -> None:
    every: list[Result] = []
    others: list[str] = []
    for planted in rounds(scene.accounts):
        plant(scene, planted)
        audit = scene.audit()
        touched = {one.account.name for one in planted}
        others += [f"{one['account']}: {one['text']}" for one in audit.findings if one["account"] not in touched]
        fixes = [different(f["fix"] for f in audit.of(one.account)) for one in planted]
        with ThreadPoolExecutor(9) as pool:
            problems = list(pool.map(lambda pair: fixed(scene, *pair), zip(planted, fixes, strict=True)))
        again = scene.audit()
        every += results(scene, planted, audit, again, problems)
        scene.declare()
        for one in planted:  # after one that was not fixed, or that was fixed for other settings
            if again.of(one.account) or one.drift.settings:
                restore(scene, one.account)
    print("", *map(line, every), f"{len(every)} drifts", sep="\n")
    wrong = [one for one in every if one.fixed or not is_right(one)]
    assert not wrong, "\n".join(f"{line(one)}\n    " + "\n    ".join(one.fixes) for one in wrong)
    assert not others
    say(f"drifts found alone, and fixed: {len(every)} of {sum(map(len, DRIFTS.values()))}")
    assert len(every) >= (110 if EXHAUSTIVE else 15)
