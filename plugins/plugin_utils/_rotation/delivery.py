# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring a version to one target and verify it there, and record every step.

The intent is recorded first, then the step is taken, then its result is recorded. Targets do not wait for each other:
any process may deliver to any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._secrets import versions
from .._secrets.version_store import VersionStore
from .._secrets.versions import KeyVersion
from .._state.signed_record import Event
from .ledger import NO_KEY, Ledger
from .next_step import RotationError, RotationStep
from .ports import (
    EffectReport,
    KeyNotHeld,
    OutcomeUnknown,
    RotatedElsewhere,
    RotationEffects,
    StepRefused,
    TargetUnreachable,
)
from .situation import SCHEDULED, Situation

WORKS = ("valid", "not_entitled", "inconclusive", "unknown")  # verdicts that do not speak against the key


@dataclass(frozen=True)
class Delivery:
    """The records of one secret's rotation, and what it can do outside them."""

    name: str
    ledger: Ledger
    store: VersionStore
    effects: RotationEffects
    targets: tuple[str, ...] = ()
    canary: str = ""
    now: str = ""

    def situation(self) -> Situation:
        """Return what is known now."""
        return Situation(self.name, self.store.load(), self.ledger.records(), self.targets, self.canary, self.now)

    def recover(self) -> bool:
        """Begin in the ledger what only the labels know of. Returns False if nothing was missing.

        What a target holds is recorded as unknown, so that every account is asked: it may be either key. The opening is
        recorded last, since it says that this was done.
        """
        now = self.situation()
        lost = now.unrecorded_version
        if lost is None:
            return False
        for target in () if lost.label == "retired" else now.states(lost.id):  # given up: it was put back everywhere
            self.note("spread", "begun", lost.id, target)
        self.note("take", "ok", lost.id)
        self.note("plan", "begun", lost.id, evidence={"mode": SCHEDULED, "kind": lost.kind})
        return True

    def ask_again(self) -> None:
        """Have this run probe the targets that held no key: onboarding may have installed the old one since."""
        now = self.situation()
        if now.new_version and now.new_version.label == "pending" and not now.is_given_up(now.version):
            for target in now.absent_targets(now.version):
                self.note("plan", "begun", now.version, target)

    def deliver(self, target: str, step: RotationStep) -> None:
        """Bring the version to one target, and verify it there."""
        if self.label_of(step.version) not in ("pending", "current"):
            raise RotationError(
                "only a pending or current version of a key can be installed: run the rotation with --resume"
            )
        name, version = "canary" if step.name == "canary" else "spread", step.version
        try:
            self.note(name, "begun", version, target)
            self.note(name, "installed", version, target, self.effects.install(target, version))
        except StepRefused as error:
            self.note_refusal(name, version, target, error)
        except OutcomeUnknown:
            self.note(name, "unknown", version, target)
        else:
            self._verify(target, name, version)

    def note_refusal(self, step: str, version: str, target: str, error: StepRefused) -> None:
        """Record why a target was not given a version, or does not hold it. A target without a key is excused."""
        found: dict[str, str | int] = {"found": error.found} if isinstance(error, KeyNotHeld) else {}
        result = "excused" if found.get("found") == NO_KEY else "failed"
        result = {TargetUnreachable: "unreachable", RotatedElsewhere: "refused"}.get(type(error), result)
        self.note(step, result, version, target, evidence=found)

    def note(
        self,
        step: str,
        result: str,
        version: str,
        target: str = "",
        found: EffectReport | None = None,
        evidence: dict[str, str | int] | None = None,
    ) -> None:
        """Record what is begun, or its result."""
        found = found or EffectReport("", evidence or {})
        known = self.known_versions()
        own = next((one for one in known if one.id == version), None)
        sequence = own.sequence if own else versions.next_sequence(known)
        fingerprint = own.fingerprint if own else ""
        event = Event(self.name, step, result, version, target, fingerprint, found.verdict, found.evidence, sequence)
        self.ledger.append(event)

    def known_versions(self) -> tuple[KeyVersion, ...]:
        """Return the versions of the secret, oldest first; none before its first rotation."""
        secret = self.store.load()
        return secret.versions if secret else ()

    def label_of(self, version: str) -> str:
        """Return the label of a version; empty for one that is not made yet."""
        return next((one.label for one in self.known_versions() if one.id == version), "")

    def _verify(self, target: str, step: str, version: str) -> None:
        """Verify an installed version. Puts the old key back if the new one is refused, unless the old may be dead."""
        try:
            found = self.effects.verify(target, version)
        except (StepRefused, OutcomeUnknown):
            return
        if found.verdict in WORKS:
            self.note(step, "verified", version, target, found)
        if found.verdict != "invalid":
            return
        secret = self.store.load()
        if secret and self.label_of(version) == "pending" and not self.situation().may_be_dead(secret.current.id):
            self.put_back(target, step, version, found)
        else:
            self.note(step, "failed", version, target, found)

    def put_back(self, target: str, step: str, version: str, found: EffectReport | None = None) -> None:
        """Restore what was there before the version. found: why, if the key itself was refused there."""
        self.note(step, "begun", version, target)
        try:
            self.effects.put_back(target, version)
        except KeyNotHeld as error:  # so it does not hold the version either
            self.note(step, "rolled_back", version, target, evidence={"found": error.found})
        except (StepRefused, OutcomeUnknown):
            self.note(step, "unknown", version, target, found)
        else:
            self.note(step, "rolled_back", version, target, found)
