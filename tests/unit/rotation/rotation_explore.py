# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""All executions with up to so many faults: each is a list of choices, run from the beginning."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import next_step
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import RotationStep
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.situation import COMPROMISED, SCHEDULED
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import signed_record
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Head
from rotation_world import KEY, NAME, SAME, THEIRS, Died, DiskError, Violation, World

from tests.effort import SEED

RUNS, STEPS = 9, 60
TARGETS = ("me@one:enroot", "me@two:enroot", "me@three:enroot")


@dataclass(frozen=True)
class Plan:
    """What is explored, and the steps that are explored (others than the real ones are a seeded bug)."""

    kind: str = "personal"
    mode: str = SCHEDULED
    targets: int = 2
    give_up: str = ""  # a person aborts after this step was taken anywhere
    last: str = versions.FIRST  # what the last target holds; one with another key is excused by a person once
    loses: bool = False  # before a run its ledger may be moved away; the labels stay
    away: bool = False  # the last target never answers; a person excuses it once
    every: bool = False  # dying before each effect too, which is the same as dying after the one before
    rotation: type[Rotation] = Rotation


@dataclass
class Count:
    """What came of an exploration."""

    executions: int = 0
    violations: list[str] = field(default_factory=list)
    runs: Counter[int] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    def line(self, title: str) -> str:
        """For people."""
        ends = ", ".join(f"{number} {word}" for word, number in sorted(self.ends.items()))
        most = max(self.runs, default=0)
        return f"{title}: {self.executions} executions, {len(self.violations)} violations, <= {most} runs; {ends}"


def report(count: Count, title: str, say: Callable[[str], None]) -> None:
    """Print what came of it; nothing may be broken."""
    say(count.line(title))
    assert count.executions > 50
    assert not count.violations, "\n".join(count.violations[:5])


class Choices:
    """The choices of one execution: a prefix that is given, and then what `more` says."""

    def __init__(self, prefix: Sequence[int], every: bool = False, more: Callable[[int], int] = lambda _: 0) -> None:
        self.taken = list(prefix)
        self.ways: list[int] = []
        self._every = every
        self.more = more

    def choose(self, what: str, ways: Sequence[str]) -> str:
        at = len(self.ways)
        ways = ways if self._every else [way for way in ways if way not in SAME]
        self.ways.append(len(ways))
        if at == len(self.taken):
            self.taken.append(self.more(len(ways)))
        return ways[self.taken[at]]


def execute(plan: Plan, choices: Choices) -> tuple[str, int]:
    """One execution to its end: how far it came and in how many runs. Raises Violation."""
    hasty = plan.mode == COMPROMISED or plan.kind == "legacy"
    targets = TARGETS[: plan.targets]
    world = World(choices.choose, plan.kind, hasty, dict.fromkeys(targets, "first"))
    world.targets[targets[-1]] = plan.last
    world.away = targets[-1] if plan.away else ""
    world.stuck = targets[-1] if plan.away or plan.last == THEIRS else ""
    rotation = plan.rotation(NAME, world, world, world, targets)
    runs = 0
    while runs < RUNS:
        runs += 1
        try:
            one_run(plan, rotation, world)
        except (Died, DiskError):
            continue
        if next_step.describe_progress(rotation.situation()) in ("clean", "aborted"):
            break
    return ended(
        rotation, world, targets, thorough=len(choices.ways) % 7 == 0 or sum(map(bool, choices.taken)) < 2
    ), runs


def one_run(plan: Plan, rotation: Rotation, world: World) -> None:
    """One run of rotate or rotate_resume, to the step that cannot be taken or brings nothing."""
    is_known = world.known and len(world.known.versions) > 1  # before that, the ledger alone knew of a new key
    if plan.loses and is_known and world.choose("the ledger", ("kept", "lost")) == "lost":
        world.lose_ledger()
    rotation.recover()
    if not world.book:
        rotation.begin(plan.kind, plan.mode)
    elif world.stuck:
        _excuse(rotation, world)
    rotation.recheck_absent_targets()
    if next_step.next_step(rotation.situation()).name == "settle":
        rotation.note("settle", "begun", rotation.situation().version)
    for _ in range(STEPS):
        now = rotation.situation()
        if next_step.describe_progress(now) == "clean" and not plan.give_up:
            return
        tried = any(one.step == plan.give_up and one.target for one in world.book)
        if plan.give_up == "settled":
            tried = bool(now.last_seq("settle", now.version, "ok"))
        old = now.fallback_version  # after the old key went, a rotation cannot be given up any more
        if tried and old and not now.may_be_dead(old.id) and not now.last_seq("abort", now.version):
            rotation.cancel()
        before = len(world.book)
        step = next_step.next_step(rotation.situation())
        take(rotation, world, step)
        after = next_step.next_step(rotation.situation())
        if (after.name, after.targets) == (step.name, step.targets) or before == len(world.book):
            return


def take(rotation: Rotation, world: World, step: RotationStep) -> None:
    """Take a step; a person who has to deactivate a key does so before they say it."""
    if step.name in ("retire", "prove_dead") and not step.obstacle and not step.targets and world.issuer[step.version]:
        world.deactivate(step.version)
    rotation.take_step(step)


def _excuse(rotation: Rotation, world: World) -> None:
    """A person says to go on without the target that is away."""
    now = rotation.situation()
    if now.version and now.states(now.version).get(world.stuck) != "excused":
        world.excused.add(world.stuck)
        rotation.excuse(world.stuck)


def ended(rotation: Rotation, world: World, targets: tuple[str, ...], thorough: bool) -> str:
    """The state at the end, which must be whole and true."""
    if (
        thorough
        and signed_record.verify_lines(
            [signed_record.to_line(one)[:-1] for one in world.book], Head(world.book[-1].seq, world.book[-1].hash), KEY
        )[1]
    ):
        raise Violation("the ledger does not verify")
    state, secret = next_step.describe_progress(rotation.situation()), world.known
    if state not in ("clean", "aborted"):
        raise Violation(f"no end after {RUNS} runs: {state}, {next_step.next_step(rotation.situation())}")
    assert secret
    alive = [version for version in world.issuer if world.issuer[version]]
    reached = {version for target, version in world.held().items() if target not in world.excused}
    if reached - {secret.current.id} or alive != [secret.current.id]:
        raise Violation(f"{state} is said, and it is not so")
    if len(world.keyring) != 1:
        raise Violation(f"{state} is said, and the keyring holds {len(world.keyring)} values")
    return state


Execute = Callable[[Plan, Choices], tuple[str, int]]


def explore(plan: Plan, faults: int, execute: Execute = execute) -> Count:
    """Every execution with up to so many faults."""
    count = Count()
    todo: list[tuple[list[int], int]] = [([], 0)]
    while todo:
        prefix, used = todo.pop()
        choices = Choices(prefix, plan.every)
        _count(plan, choices, count, execute)
        if used < faults:
            todo += [(more, used + 1) for more in _next(prefix, choices)]
    return count


def _next(prefix: Sequence[int], choices: Choices) -> Iterator[list[int]]:
    for at in range(len(prefix), len(choices.ways)):
        for way in range(1, choices.ways[at]):
            yield [*choices.taken[:at], way]


def sample(plan: Plan, faults: int, number: int, execute: Execute = execute) -> Count:
    """Executions with this many faults at places that the seed chooses."""
    count, chance, usual = Count(), random.Random(int(SEED)), Choices([], plan.every)
    execute(plan, usual)
    length = len(usual.ways)
    for _ in range(number):
        places = set(chance.sample(range(length), faults))
        choices = Choices([], plan.every)

        def more(ways: int, choices: Choices = choices, places: set[int] = places) -> int:
            return chance.randrange(1, ways) if len(choices.ways) - 1 in places else 0

        choices.more = more
        _count(plan, choices, count, execute)
    return count


def _count(plan: Plan, choices: Choices, count: Count, execute: Execute) -> None:
    count.executions += 1
    try:
        state, runs = execute(plan, choices)
    except Violation as error:
        count.violations.append(f"{error} {choices.taken}")
    else:
        count.ends[state] += 1
        count.runs[runs] += 1
