# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rotation that meets up to two faults ends whole and true; and a design with a bug in it is caught."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import next_step, steps
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import RotationStep
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ports import OutcomeUnknown, StepRefused
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.situation import COMPROMISED, Situation
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Record
from rotation_explore import Plan, explore, report, sample
from rotation_world import NO_KEY, THEIRS

from tests.effort import EXHAUSTIVE, exhaustive, turns

pytestmark = turns(3)

PLANS = {
    "overlapping": Plan(),
    "replaced at once": Plan(kind="legacy"),
    "given up after the canary": Plan(give_up="canary"),
    "given up while spreading": Plan(give_up="spread"),
    "given up after it settled": Plan(give_up="settled"),
    "compromised": Plan(mode=COMPROMISED),
    "a target away": Plan(away=True),
    "a target away, given up": Plan(away=True, give_up="spread"),
    "a target without a key": Plan(last=NO_KEY),
    "a target without a key, given up": Plan(last=NO_KEY, give_up="settled"),
    "a target with another key": Plan(last=THEIRS),
    "the ledger lost": Plan(loses=True),
    "the ledger lost, given up": Plan(loses=True, give_up="spread"),
}


@pytest.mark.parametrize("title", PLANS)
def test_one_fault_of_any_kind_anywhere_breaks_nothing(title: str, say: Callable[[str], None]) -> None:
    report(explore(replace(PLANS[title], every=True), 1), f"{title}, <= 1 fault", say)


@exhaustive
@pytest.mark.parametrize("title", PLANS)
def test_two_faults_break_nothing(title: str, say: Callable[[str], None]) -> None:
    report(explore(PLANS[title], 2), f"{title}, <= 2 faults", say)


@pytest.mark.parametrize("title", PLANS)
def test_three_faults_over_three_targets_break_nothing(title: str, say: Callable[[str], None]) -> None:
    count = sample(replace(PLANS[title], targets=3), 3, 2000 if EXHAUSTIVE else 120)
    report(count, f"{title}, 3 faults, 3 targets, sampled", say)


# Bugs


class NoIntent(Rotation):
    """What came of a deed is written down, and not that it was begun."""

    def note(self, step: str, result: str, version: str, target: str = "", *rest: object, **more: object) -> None:
        if not (result == "begun" and target):
            super().note(step, result, version, target, *rest, **more)  # type: ignore[arg-type]  # handed on as it came


class LabelBeforeValue(Rotation):
    """The pending version is recorded before its value is in the keyring."""

    def _take(self, step: RotationStep) -> None:
        if not self.label_of(step.version):
            self.store.update(
                lambda secret: versions.add_pending(secret, versions.KeyVersion(step.version, "personal"))
            )
        super()._take(step)


class ValueGoesFirst(Rotation):
    """The value of the old version is taken out of the keyring when it was deactivated, not when it was seen dead."""

    def _prove_dead(self, step: RotationStep) -> None:
        with suppress(StepRefused, OutcomeUnknown):
            self.effects.remove_key(step.version)
        super()._prove_dead(step)


class PutBackUnnoted(Rotation):
    """What was there before comes back without a word before it."""

    def put_back(self, target: str, label: str, version: str, *rest: object) -> None:
        with suppress(StepRefused, OutcomeUnknown):
            self.effects.put_back(target, version)
            self.note(label, "rolled_back", version, target)


def no_patch(_: pytest.MonkeyPatch) -> None:
    """The bug is in the steps."""


def retire_first(patch: pytest.MonkeyPatch) -> None:
    """The old key is deactivated once the new one is proven."""
    real = next_step._step_before_settle

    def early(situation: Situation) -> RotationStep:
        step = real(situation)
        old = situation.secret.current.id if situation.secret else ""
        return RotationStep("retire", old) if step.name == "canary" and not situation.retired_seq(old) else step

    patch.setattr(next_step, "_step_before_settle", early)
    patch.setattr(steps, "explain_no_retire", lambda *_: "")


def failed_is_fine(patch: pytest.MonkeyPatch) -> None:
    """A target that failed does not hold up the rest."""
    trouble = ("verified", "excused", "failed", "unknown")
    patch.setattr(
        Situation, "unsettled_targets", lambda now, v: tuple(t for t, s in now.states(v).items() if s not in trouble)
    )


def promote_early(patch: pytest.MonkeyPatch) -> None:
    """One verified target is enough for the new version to be current."""
    real = Situation.unsettled_targets

    def few(now: Situation, version: str) -> tuple[str, ...]:
        pending = now.secret and now.secret.find_label("pending")
        return () if pending and "verified" in now.states(version).values() else real(now, version)

    patch.setattr(Situation, "unsettled_targets", few)


def resume_forgets(patch: pytest.MonkeyPatch) -> None:
    """What was begun and not ended counts as not begun."""
    real = next_step.Situation.own_records.func  # type: ignore[attr-defined]  # a cached property

    def ended(now: Situation) -> list[Record]:
        return [one for one in real(now) if not (one.result in ("begun", "unknown") and one.target)]

    patch.setattr(Situation, "own_records", property(ended))


BUGS: dict[str, tuple[Plan, Callable[[pytest.MonkeyPatch], None]]] = {
    "no intent recorded": (Plan(rotation=NoIntent), no_patch),
    "retire first": (Plan(), retire_first),
    "retire although a target failed": (Plan(), failed_is_fine),
    "promote before all are verified": (Plan(), promote_early),
    "pending recorded before it is stored": (Plan(rotation=LabelBeforeValue), no_patch),
    "value dropped before the key is dead": (Plan(rotation=ValueGoesFirst), no_patch),
    "put back without an intent": (Plan(give_up="spread", rotation=PutBackUnnoted), no_patch),
    "abort forgets what was begun": (Plan(give_up="spread"), resume_forgets),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_design_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch, say: Callable[[str], None]) -> None:
    plan, patch = BUGS[bug]
    patch(monkeypatch)
    count = explore(plan, 1)
    first = count.violations[0].split(" [")[0] if count.violations else "nothing"
    say(f"seeded: {bug}: {len(count.violations)} of {count.executions}, {first!r}")
    assert count.violations
