# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation beside which others act ends whole and true with up to two faults, and a design with a bug is caught."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import notes
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import steps
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.situation import Situation
from rotation_beside import Beside, execute_beside
from rotation_explore import Plan, explore, report, sample
from rotation_world import NO_KEY

from tests.effort import EXHAUSTIVE, exhaustive, turns

pytestmark = turns(3)

PLANS = {
    "overlapping": Plan(),
    "a target without a key": Plan(last=NO_KEY),
    "given up while spreading": Plan(give_up="spread"),
    "given up after it settled": Plan(give_up="settled"),
}


@pytest.mark.parametrize("title", PLANS)
def test_one_act_or_fault_anywhere_breaks_nothing(title: str, say: Callable[[str], None]) -> None:
    report(explore(PLANS[title], 1, execute_beside), f"beside, {title}, <= 1 act or fault", say)


@exhaustive
@pytest.mark.parametrize("title", PLANS)
def test_two_acts_or_faults_break_nothing(title: str, say: Callable[[str], None]) -> None:
    report(explore(PLANS[title], 2, execute_beside), f"beside, {title}, <= 2 acts or faults", say)


@pytest.mark.parametrize("title", PLANS)
def test_two_acts_or_faults_at_random_break_nothing(title: str, say: Callable[[str], None]) -> None:
    count = sample(PLANS[title], 2, 2000 if EXHAUSTIVE else 150, execute_beside)
    report(count, f"beside, {title}, 2 acts or faults, sampled", say)


# Bugs


class KeyBeforeMark(Beside):
    """The key is written before it is noted who installs it."""

    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]  # handed on as it came
        self.mark_first = False


def onboarding_takes_part(patch: pytest.MonkeyPatch) -> None:
    """Onboarding does not ask whether a rotation is open."""
    patch.setattr(Situation, "pending_targets", ())


def settled_by_the_ledger(patch: pytest.MonkeyPatch) -> None:
    """What the ledger says of the targets is enough to settle."""
    patch.setattr(Situation, "unread_targets", lambda *_: ())


def read_once(patch: pytest.MonkeyPatch) -> None:
    """What an earlier run has read is not read again."""
    real = steps.Rotation.note

    def note(self: steps.Rotation, step: str, result: str, *rest: object, **more: object) -> None:
        if (step, result) != ("settle", "begun"):
            real(self, step, result, *rest, **more)  # type: ignore[arg-type]  # handed on as it came

    patch.setattr(steps.Rotation, "note", note)


def marks_are_not_read(patch: pytest.MonkeyPatch) -> None:
    """No account looks at its mark."""
    patch.setattr(notes, "is_unknown_to_sender", lambda *_: False)


def no_patch(_: pytest.MonkeyPatch) -> None:
    """The bug is in the world."""


BUGS: dict[str, tuple[type[Beside], Callable[[pytest.MonkeyPatch], None]]] = {
    "onboarding takes part": (Beside, onboarding_takes_part),
    "settled by the ledger alone": (Beside, settled_by_the_ledger),
    "read once, by an earlier run": (Beside, read_once),
    "marks are not read": (Beside, marks_are_not_read),
    "key before mark": (KeyBeforeMark, no_patch),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_design_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch, say: Callable[[str], None]) -> None:
    world, patch = BUGS[bug]
    patch(monkeypatch)
    count = explore(Plan(), 1, partial(execute_beside, world=world))
    first = count.violations[0].split(" [")[0] if count.violations else "nothing"
    say(f"seeded: {bug}: {len(count.violations)} of {count.executions}, {first!r}")
    assert count.violations
