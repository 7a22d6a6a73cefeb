# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes next in a rotation, what is said of it, and that "done" is said when it is, and not before."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import next_step as _rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import (
    RotationStep,
    next_step,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
from hypothesis import given
from hypothesis import strategies as st
from rotation_explore import TARGETS, Choices, take
from rotation_world import KEY, NAME, Died, World

ONE, TWO = TARGETS[:2]


def fine(_: str, ways: Sequence[str]) -> str:
    """Everything goes well."""
    return ways[0]


def at_work(kind: str = "personal", mode: str = "scheduled", **more: str) -> tuple[Rotation, World]:
    """A rotation that was begun, over two targets."""
    world = World(fine, kind, kind == "legacy" or mode == "compromised", dict.fromkeys((ONE, TWO), "first"), **more)  # type: ignore[arg-type]  # as in World
    rotation = Rotation(NAME, world, world, world, (ONE, TWO))
    rotation.begin(kind, mode)
    return rotation, world


def to(rotation: Rotation, name: str) -> RotationStep:
    """Go on to the step of that name, which is not taken."""
    for _ in range(30):
        step = next_step(rotation.situation())
        if step.name == name:
            return step
        take(rotation, rotation.effects, step)
    raise AssertionError(f"never came to {name}")


def way(rotation: Rotation) -> list[tuple[str, str]]:
    """Every step to the end, with the state before it."""
    seen = []
    for _ in range(30):
        situation = rotation.situation()
        step = next_step(situation)
        seen.append((step.name, _rotation.describe_progress(situation)))
        assert (_rotation.describe_progress(situation) == "clean") == (step.name == "")
        if not step.name:
            return seen
        take(rotation, rotation.effects, step)
    raise AssertionError(seen)


def test_the_way_of_a_rotation() -> None:
    assert way(at_work()[0]) == [
        ("plan", "none"),
        ("take", "none"),
        ("prove", "pending"),
        ("canary", "proven"),
        ("spread", "spreading"),
        ("settle", "spreading"),
        ("retire", "settled"),
        ("retire", "deactivated"),
        ("prove_dead", "deactivated"),
        ("purge", "dead"),
        ("", "clean"),
    ]


def test_a_key_that_its_successor_revokes_has_no_canary_and_no_grace() -> None:
    rotation, _ = at_work("legacy")
    rotation = replace(rotation, grace_until="2030-01-01T00:00:00Z", clock="2026-01-01T00:00:00Z")
    names = [name for name, _ in way(rotation)]
    assert names == ["plan", "take", "prove", "spread", "settle", "retire", "retire", "prove_dead", "purge", ""]


def test_a_compromised_key_is_retired_first() -> None:
    rotation, world = at_work(mode="compromised")
    names = way(rotation)
    expected = ["plan", "retire", "take", "prove", "spread", "settle", "retire", "retire", "prove_dead", "purge", ""]
    assert [name for name, _ in names] == expected
    assert names[1][1] == names[2][1] == "compromised"
    assert [one.target for one in world.book if one.step == "canary"] == []


def test_a_key_that_is_replaced_at_once_is_not_taken_before_every_target_is_ready() -> None:
    rotation, world = at_work("legacy", away=TWO)
    rotation.take_step(next_step(rotation.situation()))
    step = next_step(rotation.situation())
    assert (step.name, step.targets) == ("plan", (TWO,))
    assert "revokes the old key at once" in step.obstacle
    assert "continue without" in step.obstacle
    world.excused.add(TWO)
    rotation.excuse(TWO)
    assert next_step(rotation.situation()).name == "take"


def test_a_key_of_another_kind_does_not_revoke_the_old_one() -> None:
    world = World(fine, "personal", False, {ONE: "first"})
    rotation = Rotation(NAME, world, world, world, (ONE,))
    rotation.begin("personal", first_kind="legacy")
    to(rotation, "canary")
    assert to(rotation, "retire").is_manual


def test_one_target_that_is_away_holds_up_the_end_and_not_the_others() -> None:
    rotation, world = at_work(away=ONE)
    rotation.take_step(to(rotation, "canary"))
    assert world.targets[TWO] != "first"
    rotation.take_step(to(rotation, "spread"))
    situation = rotation.situation()
    assert next_step(situation).targets == (ONE,)
    assert _rotation.describe_progress(situation) == "partial"
    assert situation.states(situation.version) == {ONE: "unreachable", TWO: "verified"}


def test_the_chosen_canary_goes_first() -> None:
    rotation, _ = at_work()
    assert to(replace(rotation, canary=TWO), "canary").targets == (TWO,)
    assert to(replace(rotation, canary="me@gone:enroot"), "canary").targets == (ONE,)


def test_an_account_that_left_the_inventory_still_counts() -> None:
    rotation, _ = at_work()
    to(rotation, "canary")
    smaller = replace(rotation, targets=(ONE,))
    assert smaller.situation().unsettled_targets(smaller.situation().version) == (ONE, TWO)


def test_grace_lasts_until_its_end_or_a_persons_word() -> None:
    rotation, _ = at_work()
    rotation = replace(rotation, grace_until="2026-12-01T00:00:00Z", clock="2026-11-21T00:00:00Z")
    assert to(rotation, "grace").version == "first"
    assert _rotation.describe_progress(rotation.situation()) == "settled"
    assert next_step(replace(rotation, clock="2026-12-01T00:00:00Z").situation()).name == "retire"
    assert next_step(replace(rotation, clock="").situation()).name == "grace"
    rotation.end_grace()
    assert next_step(rotation.situation()) == RotationStep("retire", "first", is_manual=True)


def test_a_key_is_not_retired_while_a_target_may_need_it() -> None:
    rotation, world = at_work()
    to(rotation, "retire")
    more = replace(rotation, targets=(ONE, TWO, TARGETS[2]))
    world.targets[TARGETS[2]] = "first"
    world.excused.add(TARGETS[2])
    assert next_step(more.situation()).name == "spread"
    with pytest.raises(AccountError, match="may still need the key"):
        more.take_step(RotationStep("retire", "first"))
    with pytest.raises(AccountError, match="only a compromised"):
        more.take_step(RotationStep("retire", more.situation().version))


def test_a_target_that_breaks_when_the_old_key_goes_is_brought_the_new_one_again() -> None:
    rotation, world = at_work()
    step = to(rotation, "retire")
    take(rotation, world, step)
    world.choose = lambda what, ways: "said no" if what == "verify" else ways[0]
    rotation.take_step(next_step(rotation.situation()))
    world.choose = fine
    assert next_step(rotation.situation()).name == "spread"
    assert way(rotation)[-1] == ("", "clean")


def test_labels_that_know_less_than_the_ledger_are_refused() -> None:
    rotation, world = at_work()
    to(rotation, "canary")
    old = world.known
    to(rotation, "retire")
    world.known = old
    with pytest.raises(AccountError, match="an older file was restored"):
        next_step(rotation.situation())
    world.known = None
    with pytest.raises(AccountError):
        next_step(rotation.situation())


def test_a_second_rotation_waits_for_the_first() -> None:
    rotation, world = at_work()
    for name in ("take", "prove", "canary", "spread", "settle"):
        to(rotation, name)
        with pytest.raises(AccountError, match="is already open"):
            rotation.begin("personal")
    to(rotation, "retire")
    rotation.begin("personal")
    assert way(rotation)[-1] == ("", "clean")
    assert [one.label for one in world.known.versions] == ["purged", "purged", "current"]  # type: ignore[union-attr]  # it is known by then


def test_a_key_that_is_slow_to_die_holds_up_neither_the_next_one_nor_a_third() -> None:
    rotation, world = at_work()
    to(rotation, "prove_dead")
    rotation.begin("personal")
    rotation.take_step(to(rotation, "settle"))
    assert world.known
    assert [one.label for one in world.known.versions] == ["retired", "previous", "current"]
    assert next_step(rotation.situation()).name == "retire"
    third = rotation.begin("personal")
    assert way(rotation)[-1] == ("", "clean")
    assert world.known.current.id == third
    assert len(world.keyring) == 1


@pytest.mark.parametrize("at", ["settle", "retire"])
def test_what_is_given_up_comes_back_and_its_key_goes(at: str) -> None:
    rotation, world = at_work()
    to(rotation, at)
    rotation.cancel()
    names = []
    while (step := next_step(rotation.situation())).name:
        names.append(step.name)
        take(rotation, world, step)
    assert [name for name, _again in itertools.groupby(names)] == ["abort", "retire", "prove_dead", "purge"]
    assert set(world.targets.values()) == {"first"}
    assert _rotation.describe_progress(rotation.situation()) == "aborted"
    rotation.begin("personal")
    assert way(rotation)[-1] == ("", "clean")


@pytest.mark.parametrize("mode", ["scheduled", "compromised"])
def test_no_key_is_retired_while_the_rotation_is_being_cancelled(mode: str) -> None:
    rotation, world = at_work(mode=mode)
    to(rotation, "retire")
    rotation.cancel()
    with pytest.raises(AccountError, match="is being cancelled"):
        rotation.take_step(RotationStep("retire", "first"))
    assert world.known
    assert next_step(rotation.situation()).name == "abort"


def test_an_account_that_comes_after_a_cancellation_does_not_hold_up_the_key_that_was_given_up() -> None:
    rotation, _ = at_work()
    to(rotation, "retire")
    rotation.cancel()
    to(rotation, "retire")
    more = replace(rotation, targets=(ONE, TWO, TARGETS[2]))
    step = next_step(more.situation())
    assert (step.name, step.obstacle) == ("retire", "")


@pytest.mark.parametrize("away", [True, False])
def test_a_target_that_was_never_written_does_not_hold_up_a_cancellation(away: bool) -> None:
    rotation, world = at_work(away=TWO if away else "")
    rotation.take_step(to(rotation, "canary"))
    world.choose = lambda what, ways: "refused" if what == "install" else ways[0]
    rotation.take_step(to(rotation, "spread"))
    rotation.cancel()
    assert next_step(rotation.situation()).targets == (ONE,)
    rotation.take_step(next_step(rotation.situation()))
    assert next_step(rotation.situation()).name == "retire"
    assert set(world.targets.values()) == {"first"}


def test_a_target_that_may_have_been_written_before_it_refused_gets_the_old_key_back() -> None:
    rotation, world = at_work()
    for way in ("lost, done", "refused"):
        world.choose = lambda what, ways, way=way: way if what == "install" else ways[0]  # type: ignore[misc]  # a default
        rotation.take_step(to(rotation, "canary"))
    world.choose = fine
    rotation.cancel()
    assert next_step(rotation.situation()).targets == (ONE,)


def test_a_target_that_never_answers_is_left_out_of_a_cancellation_when_a_person_says_so() -> None:
    rotation, world = at_work()
    to(rotation, "settle")
    world.away = TWO
    rotation.cancel()
    rotation.take_step(next_step(rotation.situation()))
    assert next_step(rotation.situation()) == RotationStep("abort", rotation.situation().version, (TWO,))
    assert rotation.situation().states(rotation.situation().version)[TWO] == "unreachable"
    world.excused.add(TWO)
    rotation.excuse(TWO)
    rotation.take_step(next_step(rotation.situation()))
    assert next_step(rotation.situation()).name == "retire"


@pytest.mark.parametrize(
    ("kind", "mode", "step", "why"),
    [
        ("legacy", "scheduled", "prove", "may no longer work"),
        ("personal", "compromised", "take", "may no longer work"),
        ("personal", "scheduled", "prove_dead", "no longer in use"),
        ("personal", "scheduled", "", "no longer in use"),
    ],
)
def test_what_cannot_be_given_up(kind: str, mode: str, step: str, why: str) -> None:
    rotation, _ = at_work(kind, mode)
    to(rotation, step)
    with pytest.raises(AccountError, match=why):
        rotation.cancel()


# On the disk


def test_a_rotation_on_the_disk_is_resumed_by_another_process(state: Path) -> None:
    world = World(fine, targets=dict.fromkeys((ONE, TWO), "first"))
    for _ in range(12):
        fresh = Rotation(NAME, Ledger(KEY), VersionStore(NAME, KEY), world, (ONE, TWO))
        if not fresh.situation().version:
            fresh.begin("personal")
        take(fresh, world, next_step(fresh.situation()))
    assert _rotation.describe_progress(fresh.situation()) == "clean"
    assert Ledger(KEY).find_misfit() is None
    new = fresh.situation().version
    assert fresh.situation().states(new) == {ONE: "verified", TWO: "verified"}
    assert set(Ledger(KEY).who_has(new[:8] + "0000").values()) == {"verified"}


# Anything in any order


ACTS = ("go on", "go on", "go on", "go on", "begin", "give up", "excuse", "end grace", "any step")


@given(st.data())
def test_whatever_people_and_faults_do_promises_hold_and_it_ends(data: st.DataObject) -> None:
    fault = st.integers(0, 7)
    choices = Choices([], True, lambda ways: data.draw(st.integers(1, ways - 1)) if data.draw(fault) == 0 else 0)
    world = World(choices.choose, targets=dict.fromkeys((ONE, TWO), "first"))
    rotation = Rotation(NAME, world, world, world, (ONE, TWO))
    for act in data.draw(st.lists(st.sampled_from(ACTS), min_size=8, max_size=50)):
        with suppress(Died, AccountError):
            _act(act, rotation, world, data)
        assert _rotation.describe_progress(rotation.situation()) != "clean" or _really_done(world)
    world.choose = fine
    for _ in range(40):
        if not (step := next_step(rotation.situation())).name:
            break
        take(rotation, world, step)
    assert _rotation.describe_progress(rotation.situation()) in ("clean", "aborted", "none")
    assert not world.known or _rotation.describe_progress(rotation.situation()) == "none" or _really_done(world)


def _act(act: str, rotation: Rotation, world: World, data: st.DataObject) -> None:
    if act == "begin":
        rotation.begin("personal")
    elif act == "give up":
        old = rotation.situation().fallback_version
        if old is None or world.issuer[old.id]:  # RotationOpening asks the services about the old key first
            rotation.cancel()
    elif act == "end grace":
        rotation.end_grace()
    elif act == "excuse" and rotation.situation().version:
        world.excused.add(TWO)
        rotation.excuse(TWO)
    elif act == "any step":
        name = data.draw(st.sampled_from(["settle", "retire", "prove_dead", "purge"]))
        ids = [one.id for one in world.known.versions] if world.known else ["first"]
        rotation.take_step(RotationStep(name, data.draw(st.sampled_from(ids))))
    else:
        take(rotation, world, next_step(rotation.situation()))


def _really_done(world: World) -> bool:
    assert world.known
    current = world.known.current.id
    reached = {version for target, version in world.targets.items() if target not in world.excused}
    values = {versions.keyring_name(NAME, current)}
    assert (reached, world.keyring) == ({current}, values), [(one.id, one.label) for one in world.known.versions]
    return True
