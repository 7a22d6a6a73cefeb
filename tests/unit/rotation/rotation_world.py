# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A world in memory for the real steps: keyring, issuer, targets, ledger and labels, where anything may go wrong.

Every effect asks `choose` what becomes of it. After each one the promises are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ports import (
    EffectReport,
    KeyNotHeld,
    OutcomeUnknown,
    StepRefused,
    TargetUnreachable,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import KeyVersion, Secret
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import signed_record
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Author, Event, Head, Record

NAME, KEY = "ngc", b"k" * 32
BY = Author("0" * 8, "me", "laptop")
TS = "2026-01-01T00:00:00Z"
DEED = ("done", "refused", "lost, not done", "lost, done", "died before", "died after")
LOOK = ("done", "lost, not done", "died before")
CHECK = (*LOOK, "said no")
PERSON = ("done", "died before", "died after")
DISK = ("done", "ended before", "ended after")  # an error of the disk and a death end the run alike
NO_KEY, THEIRS = "", "another key"  # what a target may hold beside versions
TAKE = (*DEED, "made, not stored", "died, made, not stored")


# Dying before an effect is dying after the one before it: nothing that lasts happens in between.
SAME = ("died before", "ended before")


class Died(BaseException):
    """The process is no more."""


class DiskError(StateError):
    """The disk has failed."""


class Violation(Exception):
    """A promise that was broken."""


@dataclass
class World:
    """What is there, whatever the records say. Takes the parts of ledger, store and effects at once."""

    choose: Callable[[str, Sequence[str]], str]
    kind: str = "personal"
    hasty: bool = False
    targets: dict[str, str] = field(default_factory=dict)
    keyring: set[str] = field(default_factory=lambda: {NAME})
    issuer: dict[str, bool] = field(default_factory=lambda: {"first": True})
    before: dict[tuple[str, str], str] = field(default_factory=dict)
    orphans: int = 0
    away: str = ""
    stuck: str = ""
    known: Secret | None = None
    book: list[Record] = field(default_factory=list)
    states: dict[tuple[str, str], str] = field(default_factory=dict)
    touched: dict[str, str] = field(default_factory=dict)
    seen: object = None
    excused: set[str] = field(default_factory=set)

    def _effect(self, what: str, ways: Sequence[str], deed: Callable[[], None]) -> str:
        """One effect: what becomes of it is chosen, done or not, and the promises are checked."""
        way = self.choose(what, ways)
        if way in ("died before", "ended before"):
            raise Died if way == "died before" else DiskError(what)
        if way in ("done", "lost, done", "died after", "ended after"):
            deed()
        self.check(what)
        if way == "died after":
            raise Died
        if way == "ended after":
            raise DiskError(what)
        if way == "refused":
            raise StepRefused
        if way.startswith("lost"):
            raise OutcomeUnknown
        return way

    # Ledger

    def append(self, event: Event) -> Record:
        last = Head(self.book[-1].seq, self.book[-1].hash) if self.book else Head()
        record = signed_record.sign_event(event, BY, last, TS, KEY)

        def add() -> None:
            self.book.append(record)
            if event.target:
                self.states[event.version, event.target] = "unknown" if event.result == "begun" else event.result
                if event.result not in ("staged", "excused"):
                    self.touched[event.target] = event.version

        self._effect(f"note {event.step} {event.result}", DISK, add)
        if record.prev != last.hash or record.seq != len(self.book):
            raise Violation("the chain is broken")
        return record

    def records(self) -> Sequence[Record]:
        return self.book

    def deactivate(self, version: str) -> None:
        """A person deactivates the key where it was made, and says so with the next run."""
        self._effect("deactivate", PERSON, lambda: self.issuer.update({version: False}))

    def lose_ledger(self) -> None:
        """A person moves the ledger away: what it said is known to nobody."""
        self.book, self.states, self.touched = [], {}, {}

    # Store

    def load(self) -> Secret | None:
        return self.known

    def read_or_adopt(
        self, kind: str, fingerprint: str = "", targets: tuple[str, ...] = (), sealed: str = ""
    ) -> Secret:
        return self._set(self.known or versions.adopt(NAME, kind, fingerprint, targets, sealed))

    def update(self, change: Callable[[Secret], Secret]) -> Secret:
        assert self.known
        return self._set(change(self.known))

    def _set(self, secret: Secret) -> Secret:
        def put() -> None:
            self.known = secret

        if secret != self.known:
            self._effect("labels", DISK, put)
        return secret

    # Effects

    def probe(self, target: str) -> EffectReport:
        if target == self.away:
            raise TargetUnreachable
        self._effect("probe", LOOK, lambda: None)
        self._check_held(target)
        return EffectReport()

    def _check_held(self, target: str) -> None:
        """As the account answers that holds no key, or one that nobody here knows."""
        if self.targets[target] in (NO_KEY, THEIRS):
            raise KeyNotHeld("0" * 12 if self.targets[target] else "none")

    def store_key(self, version: str) -> KeyVersion:
        user = versions.keyring_name(NAME, version)

        def make() -> None:
            if self.kind == "legacy":
                self.issuer = dict.fromkeys(self.issuer, False)
            self.issuer[version] = True

        def store() -> None:
            make()
            self.keyring.add(user)

        if user not in self.keyring:
            way = self._effect("take", TAKE, store)
            if "made" in way:
                make()
                self.orphans += 1
                self.check("take")
                raise Died if way.startswith("died") else OutcomeUnknown
        return KeyVersion(version, self.kind, fingerprint=version[:8] + "0" * 4)

    def test_key(self, version: str) -> EffectReport:
        self._effect("prove", LOOK, lambda: None)
        return EffectReport("valid" if self.issuer[version] else "invalid", {"http_status": 200})

    def last_day(self, version: str) -> str:
        return ""

    def install(self, target: str, version: str) -> EffectReport:
        assert versions.keyring_name(NAME, version) in self.keyring
        if target == self.away:
            raise TargetUnreachable
        self._check_held(target)
        self.before.setdefault((target, version), self.targets[target])
        self._effect("install", DEED, lambda: self.targets.update({target: version}))
        return EffectReport()

    def verify(self, target: str, version: str) -> EffectReport:
        self._check_held(target)
        if self._effect("verify", CHECK, lambda: None) == "said no":
            return EffectReport("invalid", {"http_status": 401})
        holds = self.targets[target] == version and self.issuer[version]
        return EffectReport("valid" if holds else "invalid")

    def read(self, target: str, version: str) -> EffectReport:
        if target == self.away:
            raise TargetUnreachable
        self._effect("read", LOOK, lambda: None)
        self._check_held(target)
        if self.targets[target] != version:
            raise StepRefused
        return EffectReport("valid" if self.issuer[version] else "invalid")

    def put_back(self, target: str, version: str) -> None:
        if target == self.away:
            raise TargetUnreachable
        self._check_held(target)
        old = self.before.get((target, version), self.targets[target])
        self._effect("put back", DEED, lambda: self.targets.update({target: old}))

    def remove_key(self, version: str) -> None:
        user = versions.keyring_name(NAME, version)
        self._effect("forget", DEED, lambda: self.keyring.discard(user))

    # Promises

    def check(self, what: str) -> None:
        """Raise Violation for the first promise that does not hold now."""
        for target, version in self.held().items():
            if version not in self.issuer:
                raise Violation(f"{what}: {target} holds what nobody made")
            if not self.issuer[version] and not self.hasty and target not in self.excused:
                raise Violation(f"{what}: {target} holds a dead key")
        self._check_labels(what)
        self._check_truth(what)

    def held(self) -> dict[str, str]:
        """The targets that hold a version, and which."""
        return {target: held for target, held in self.targets.items() if held not in (NO_KEY, THEIRS)}

    def _check_labels(self, what: str) -> None:
        signature = (self.known, len(self.keyring), tuple(self.targets.values()))
        if self.known is None or signature == self.seen:
            return
        self.seen = signature
        if versions.find_flaw(self.known):
            raise Violation(f"{what}: {versions.find_flaw(self.known)}")
        for one in self.known.with_labels("pending", "current", "previous", "retired"):
            if versions.keyring_name(NAME, one.id) not in self.keyring:
                raise Violation(f"{what}: the value of a {one.label} version is lost")
        expected = {one.id for one in self.known.with_labels("pending", "current")}
        if [t for t, version in self.held().items() if version not in expected and t not in self.excused]:
            raise Violation(f"{what}: current before every target has it")

    def _check_truth(self, what: str) -> None:
        for (version, target), state in self.states.items():
            holds, last = self.targets[target] == version, self.touched.get(target) == version
            if (state in ("installed", "verified") and last and not holds) or (
                state in ("staged", "rolled_back") and holds
            ):
                raise Violation(f"{what}: the ledger says {state} of {target}, which is not so")
