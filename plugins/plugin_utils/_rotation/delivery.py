# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deliver a version to one target, test it there, and record both in the ledger.

A version is one value of a key, named by an id. Its label is "pending" until the rotation has installed it on all
targets, and then "current". A target is one file with the key on one account. The ledger is the signed list of all
steps and their results.

The intent is recorded first, then the step is taken, then its result is recorded. Targets are independent, so any
process may deliver to any target.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...module_utils._core.errors import AccountError
from .._secrets import versions
from .._secrets.version_store import VersionStore
from .._secrets.versions import KeyVersion
from .._state.signed_record import Event
from .ledger import NO_KEY, Ledger
from .next_step import RotationStep
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

NOTHING_TO_REPORT = EffectReport()
NOT_REJECTED = ("valid", "not_entitled", "inconclusive", "unknown")  # verdicts that do not reject the key


@dataclass(frozen=True)
class Delivery:
    """The records and effects of the rotation of one key. name: of the key. store: of its versions and labels.

    effects: on the keyring, the services and the accounts. targets, canary, clock: see Situation.
    """

    name: str
    ledger: Ledger
    store: VersionStore
    effects: RotationEffects
    targets: tuple[str, ...] = ()
    canary: str = ""
    clock: str = ""

    def situation(self) -> Situation:
        """Read the records, and return the situation (the current state) of the rotation."""
        return Situation(self.name, self.store.load(), self.ledger.records(), self.targets, self.canary, self.clock)

    def recover(self) -> bool:
        """Record an open rotation in a ledger that has lost it. Return False if the ledger has not lost any.

        Every target is recorded as unknown, so that every account is asked which key it has. The beginning is recorded
        last: it shows that the rest was recorded.
        """
        situation = self.situation()
        lost_version = situation.unrecorded_version
        if lost_version is None:
            return False
        if lost_version.label != "retired":  # a retired version was cancelled, after every target was restored
            for target in situation.states(lost_version.id):
                self.note("spread", "begun", lost_version.id, target)
        self.note("take", "ok", lost_version.id)
        self.note(
            "plan",
            "begun",
            lost_version.id,
            report=EffectReport(evidence={"mode": SCHEDULED, "kind": lost_version.kind}),
        )
        return True

    def recheck_absent_targets(self) -> None:
        """Have this run check the targets without a key again: onboarding may have installed the key since."""
        situation = self.situation()
        new = situation.new_version
        if new and new.label == "pending" and not situation.is_cancelled(new.id):
            for target in situation.absent_targets(situation.version):
                self.note("plan", "begun", situation.version, target)  # now the state of the target is unknown

    def deliver(self, target: str, step: RotationStep) -> None:
        """Install the step's version on one target, and verify it. Raise AccountError for a version out of use."""
        if self.label_of(step.version) not in ("pending", "current"):
            raise AccountError(
                "only a pending or current version of a key can be installed. Continue the rotation with --resume"
            )
        name, version = step.name, step.version
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
        """Record why a target did not get a version, or does not have it.

        A target without a key is excused: the rotation continues without it. step: its name. error: the refusal.
        """
        evidence: dict[str, str | int] = {"found": error.found} if isinstance(error, KeyNotHeld) else {}
        if isinstance(error, TargetUnreachable):
            result = "unreachable"
        elif isinstance(error, RotatedElsewhere):
            result = "refused"
        elif evidence.get("found") == NO_KEY:
            result = "excused"
        else:
            result = "failed"
        self.note(step, result, version, target, EffectReport(evidence=evidence))

    def note(
        self, step: str, result: str, version: str, target: str = "", report: EffectReport = NOTHING_TO_REPORT
    ) -> None:
        """Append to the ledger that a step began, or its result.

        step: its name. result: "begun", "ok", "failed", or the new state of the target. version: its id. target: empty
        for a step as a whole. report: of an effect, or with further facts about the step.
        """
        all_versions = self.known_versions()
        stored = next((candidate for candidate in all_versions if candidate.id == version), None)
        event = Event(
            self.name,
            step,
            result,
            version,
            target,
            # a new version gets its fingerprint and number with its key
            fingerprint=stored.fingerprint if stored else "",
            verdict=report.verdict,
            evidence=report.evidence,
            sequence=stored.sequence if stored else versions.next_sequence(all_versions),
        )
        self.ledger.append(event)

    def known_versions(self) -> tuple[KeyVersion, ...]:
        """Return the versions of the secret, oldest first; none before its first rotation."""
        secret = self.store.load()
        return secret.versions if secret else ()

    def label_of(self, version: str) -> str:
        """Return the label of a version; empty for a version that does not have a value yet."""
        return next((recorded.label for recorded in self.known_versions() if recorded.id == version), "")

    def _verify(self, target: str, step: str, version: str) -> None:
        """Verify an installed version. If the version is refused, restore the old key if that still works.

        step: the name of the step to record.
        """
        try:
            report = self.effects.verify(target, version)
        except (StepRefused, OutcomeUnknown):
            return  # the target stays "installed", so the next run verifies it
        if report.verdict in NOT_REJECTED:
            self.note(step, "verified", version, target, report)
        if report.verdict != "invalid":  # verified above, or without a result: then the next run verifies again
            return
        secret = self.store.load()
        # do not restore an old key that may no longer work, or replace a version that is already current
        if secret and self.label_of(version) == "pending" and not self.situation().may_be_dead(secret.current.id):
            self.put_back(target, step, version, report)
        else:
            self.note(step, "failed", version, target, report)

    def put_back(self, target: str, step: str, version: str, report: EffectReport = NOTHING_TO_REPORT) -> None:
        """Restore what the target had before the version. step: the name of the step to record the result for.

        report: of the test, if the new key was refused.
        """
        self.note(step, "begun", version, target)
        try:
            self.effects.put_back(target, version)
        except KeyNotHeld as error:  # so the target does not have the version
            self.note(step, "rolled_back", version, target, EffectReport(evidence={"found": error.found}))
        except TargetUnreachable:
            self.note(step, "unreachable", version, target, report)
        except (StepRefused, OutcomeUnknown):
            self.note(step, "unknown", version, target, report)
        else:
            self.note(step, "rolled_back", version, target, report)
