# SPDX-License-Identifier: GPL-3.0-or-later
"""Two whole runs at once on one account: no update is lost, nothing is left, both say the truth."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.effort import EXHAUSTIVE

from .harness import DRAFT, FAILURES, LOCK, Writer, snapshot, writing
from .scenes import FOREIGN, OLD_SECRET, OURS, credential, environment, put, script

ROUNDS = 100 if EXHAUSTIVE else 15


def lay_out(home: Path) -> None:
    put(home / ".config/enroot/.credentials", OURS % OLD_SECRET + FOREIGN, 0o600)
    put(home / ".bashrc", "alias ll='ls -l'\n")


def other_environment() -> dict[str, Any]:
    wanted = environment()
    wanted["options"].update(section="other", variables={"OTHER": "1"})
    return wanted


def at_once(writers: tuple[Writer, Writer], plans: list[dict[str, Any]]) -> list[list[str]]:
    """The statuses of both runs."""
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda one: one[0].run(one[1]), zip(writers, plans, strict=True)))
    return [[outcome["status"] for outcome in one["outcomes"]] for one in said]


def broken(writer: Writer, plans: list[dict[str, Any]], statuses: list[list[str]]) -> list[str]:
    """What the two runs did wrong: all that both wanted is there, and nothing else of ours."""
    found = [f"a run failed: {one}" for one in statuses if not one or set(one) & set(FAILURES)]
    for plan in plans:
        before = snapshot(writer.root)
        again = [outcome["status"] for outcome in writer.run(plan)["outcomes"]]
        if set(again) != {"ok"} or snapshot(writer.root) != before:
            found.append(f"not all is in place afterwards: {again}")
    left = [path for path in snapshot(writer.root) if path.endswith((LOCK, DRAFT))]
    keys = (writer.root / "home/me/.config/enroot/.credentials").read_bytes().decode("latin-1")
    return found + left + ([] if FOREIGN in keys else ["the user's lines are lost"])


def test_different_plans_lose_nothing(count: Callable[[str, int, int], None]) -> None:
    with writing() as one, writing() as other:
        found = []
        for _round in range(ROUNDS):
            lay_out(one.fresh())
            wanted = [
                [credential(), environment(), script()],
                [credential(machine="authn.nvidia.com"), other_environment()],
            ]
            plans = [one.plan(resources) for resources in wanted]
            found += broken(one, plans, at_once((one, other), plans))
    count("concurrent rounds", ROUNDS, len(found))
    assert not found


def test_of_two_runs_of_one_plan_exactly_one_does_the_work(count: Callable[[str, int, int], None]) -> None:
    with writing() as one, writing() as other:
        found = []
        for _round in range(ROUNDS):
            lay_out(one.fresh())
            plans = [one.plan([credential(), environment(), script()])] * 2
            statuses = at_once((one, other), plans)
            found += broken(one, plans, statuses)
            if sorted(statuses) != [["different", "missing", "missing"], ["ok"] * 3]:
                found.append(f"the two said {statuses}")
    count("concurrent rounds", ROUNDS, len(found))
    assert not found
