# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation with others beside it: onboarding, a second machine that does not know of it, a hand on the files.

Before each effect one of them may act. What decides is the real code: the steps, which files onboarding leaves alone
(Situation.pending), what an account is told of a key's rotations (key_rotations), and when it leaves a key alone and
what it marks (_receipt/notes.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.hpc.onboard.plugins.module_utils._receipt import notes
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.key_rotations import describe_secret
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import next_step
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ports import (
    EffectReport,
    RotatedElsewhere,
    StepRefused,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.situation import Situation
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Event, Record
from rotation_explore import RUNS, TARGETS, Choices, Plan, ended, one_run
from rotation_world import CHECK, DEED, DISK, LOOK, NAME, NO_KEY, Died, DiskError, Violation, World

MACHINE = "a" * 16
NOTHING = "nothing"


@dataclass
class Accounts:
    """The accounts, one target each, as every machine finds them: the version that each holds, and its mark."""

    targets: dict[str, str]
    marks: dict[str, dict[str, Any]] = field(default_factory=dict)

    def refuses(self, target: str, version: str, known: Any) -> bool:
        """Whether the account leaves its key alone: an unknown rotation has installed it."""
        mark = self.marks.get(target)
        return mark is not None and notes.is_unknown_to_sender(mark, known) and self.targets[target] != version

    def mark(self, target: str, version: str, known: Any) -> None:
        """Note which rotation is about to install a key."""
        before = {"resources": {}, "keys": {NAME: self.marks[target]} if target in self.marks else {}}
        known = {**known, "writes": self.targets[target] != version}
        after = notes.merge_changes(notes.to_state(before), {}, "", {NAME: known})["keys"]
        self.marks.pop(target, None)
        self.marks.update({target: after[NAME]} if NAME in after else {})

    def onboarded(self, target: str, version: str, known: Any) -> None:
        """What onboarding by a machine does to one account."""
        if not self.refuses(target, version, known):
            self.mark(target, version, known)
            self.targets[target] = version


@dataclass
class Beside(World):
    """The world of the machine that rotates, with others in it."""

    accounts: Accounts = field(default_factory=lambda: Accounts({}))
    mark_first: bool = True
    cached: dict[tuple[str, str], str] = field(default_factory=dict)
    read_now: set[str] = field(default_factory=set)  # targets that were seen to hold the version in this run

    def begin_run(self) -> None:
        """A process of its own, which has seen nothing yet."""
        self.cached, self.read_now = {}, set()

    def _effect(self, what: str, ways: Any, deed: Callable[[], None]) -> str:
        act = self.choose(f"beside {what}", (NOTHING, *ACTS))
        if act != NOTHING:
            ACTS[act](self)
        return super()._effect(what, ways, deed)

    # What the others do

    def onboards(self) -> None:
        """This machine's own onboarding, over all accounts."""
        situation = Situation(NAME, self.known, self.book, tuple(self.targets))
        left, before = situation.pending_targets, dict(self.targets)
        version = self.known.current.id if self.known else versions.FIRST
        for target in self.targets:
            if target not in left:
                self.accounts.onboarded(target, version, describe_secret(self.known, version, MACHINE))
        new = {target for target, held in before.items() if held == NO_KEY != self.targets[target]}
        if self.known and self.known.find_label("pending"):
            if any(held != self.targets[target] for target, held in before.items() if target not in new):
                raise Violation("onboarding took part in an open rotation")
            self.excused |= new  # until the rotation comes by
            return
        self.excused -= {target for target in self.targets if target not in left and self.targets[target] == version}

    def other_onboards(self) -> None:
        """Onboarding by a machine that has the first key, and no records."""
        before = dict(self.targets)
        for target in self.targets:
            self.accounts.onboarded(target, versions.FIRST, describe_secret(None, "", "b" * 16))
        self.excused |= {target for target, held in before.items() if held == NO_KEY}  # no mark could warn it
        undone = [target for target, held in before.items() if held != self.targets[target] and target in self.made]
        if undone:
            raise Violation(f"another machine undid the rotation of {undone[0]}")

    def hand(self, target: str) -> None:
        """A person puts the first key back into a file."""
        if self.targets[target] != versions.FIRST:
            self.targets[target] = versions.FIRST
            self.excused.add(target)

    @property
    def made(self) -> set[str]:
        """The targets whose key a rotation has installed."""
        return set(self.accounts.marks)

    # The machine's own trips

    def _tell(self, version: str) -> Any:
        return describe_secret(self.known, version, MACHINE)

    def _install(self, target: str, version: str) -> None:
        self.targets[target] = version
        self.excused.discard(target)

    def _trip(self, what: str, ways: Any, target: str, version: str) -> None:
        """One trip that installs: refused, or marked and written."""
        self._check_held(target)
        known = self._tell(version)
        if self.accounts.refuses(target, version, known):
            raise RotatedElsewhere

        def marking() -> None:
            self._effect("mark", DISK, lambda: self.accounts.mark(target, version, known))

        if self.mark_first:
            marking()
        self._effect(what, ways, lambda: self._install(target, version))
        if not self.mark_first:
            marking()

    def install(self, target: str, version: str) -> EffectReport:
        assert versions.keyring_name(NAME, version) in self.keyring
        self._trip("install", DEED, target, version)
        self.cached[target, version] = "valid" if self.issuer[version] else "invalid"
        return EffectReport()

    def verify(self, target: str, version: str) -> EffectReport:
        if (target, version) not in self.cached:  # a later process: its trip brings the version again
            self._trip("confirm", CHECK, target, version)
            self.cached[target, version] = "valid" if self.issuer[version] else "invalid"
        return EffectReport(self.cached[target, version])

    def read(self, target: str, version: str) -> EffectReport:
        self._effect("read", LOOK, lambda: None)
        if self.targets[target] == NO_KEY:
            self.read_now.add(target)
        self._check_held(target)
        if self.targets[target] != version:
            raise StepRefused
        self.read_now.add(target)
        self.excused.discard(target)
        return EffectReport("valid" if self.issuer[version] else "invalid")

    def put_back(self, target: str, version: str) -> None:
        assert self.known
        self._trip("put back", DEED, target, self.known.current.id)

    # Promises

    def append(self, event: Event) -> Record:
        if (event.step, event.result) == ("settle", "ok"):
            unread = set(self.targets) - self.read_now
            if unread:
                raise Violation(f"it settles, and {min(unread)} was not read in this run")
        if event.target and event.result in ("installed", "verified") and event.target in self.excused:
            self.stale.add((event.version, event.target))
        return super().append(event)

    stale: set[tuple[str, str]] = field(default_factory=set)

    def _check_truth(self, what: str) -> None:
        kept = self.states
        self.states = {
            key: state for key, state in kept.items() if key[1] not in self.excused and key not in self.stale
        }
        super()._check_truth(what)
        self.states = kept


ACTS: dict[str, Callable[[Beside], None]] = {
    "onboarding": Beside.onboards,
    "another machine": Beside.other_onboards,
    "a hand": lambda world: world.hand(TARGETS[0]),
}


def execute_beside(plan: Plan, choices: Choices, world: type[Beside] = Beside) -> tuple[str, int]:
    """One execution to its end, with others beside it: how far it came and in how many runs. Raises Violation."""
    targets = TARGETS[: plan.targets]
    held = {**dict.fromkeys(targets, versions.FIRST), targets[-1]: plan.last}
    one = world(choices.choose, plan.kind, targets=held, accounts=Accounts(held))
    rotation: Rotation = plan.rotation(NAME, one, one, one, targets)
    runs = 0
    while runs < RUNS + 3:
        runs += 1
        one.begin_run()
        try:
            one_run(plan, rotation, one)
        except (Died, DiskError):
            continue
        if next_step.describe_progress(rotation.situation()) in ("clean", "aborted"):
            break
    return ended(rotation, one, targets, thorough=True), runs
