# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The situation of a rotation: its state, derived from the labels, the ledger and the inventory. Pure functions.

A rotation replaces a key, the secret, on all accounts. A version is one value of the secret, named by an id; its label
is pending (until all targets have it), current, previous, retired, dead or purged. A target is one file with the secret
on one account. The ledger is the list of all steps; a step has several records, such as "begun" and "ok". "plan" is the
first step of a rotation, "take" stores the new key, "settle" makes its version current, "retire" is the deactivation of
an old key by the user, and "abort" is a cancellation.

Records are ordered by their number in the ledger; the clock only decides whether the grace period is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .._secrets.versions import AT_ONCE, FIRST, KeyVersion, Secret
from .._state.signed_record import Record
from .ledger import NO_KEY, target_states

SCHEDULED, COMPROMISED = "scheduled", "compromised"  # modes
SETTLED = ("verified", "excused", "absent")  # states of a target that the rotation does not wait for
UNTOUCHED = ("staged", "rolled_back", "excused", "absent")  # states of a target that does not have the new key
REFUSALS = ("failed", "refused", "unreachable")  # results, without a verdict, of a write that changed nothing
WRITING_STEPS = ("canary", "spread")  # steps that write the new key to targets


@dataclass(frozen=True)
class Situation:
    """The labels and records of one secret's rotation, and the targets of the inventory. next_step() reads it.

    name: of the secret. canary: the target to write first, or empty. clock: the time in UTC; empty if unknown.
    """

    name: str
    secret: Secret | None
    records: Sequence[Record]
    targets: tuple[str, ...] = ()
    canary: str = ""
    clock: str = ""

    @cached_property
    def own_records(self) -> list[Record]:
        """The records of this secret, oldest first. A record about a whole step has an empty target."""
        return [record for record in self.records if record.secret == self.name]

    def records_of(self, version: str) -> list[Record]:
        """Return the records about a version, oldest first."""
        return [record for record in self.own_records if record.version == version]

    @cached_property
    def openings(self) -> list[Record]:
        """The records that each began a rotation, oldest first."""
        beginning = ("plan", "begun", "")  # without a target: the step as a whole
        return [record for record in self.own_records if (record.step, record.result, record.target) == beginning]

    @property
    def opening(self) -> Record | None:
        """The record that began the last rotation; None if there was no rotation."""
        return self.openings[-1] if self.openings else None

    @property
    def versions(self) -> tuple[KeyVersion, ...]:
        """All versions of the secret, oldest first; none before its first rotation."""
        return self.secret.versions if self.secret else ()

    @property
    def version(self) -> str:
        """The id of the version that the last rotation makes current; empty if there was no rotation."""
        return self.opening.version if self.opening else ""

    @property
    def new_version(self) -> KeyVersion | None:
        """The version that the last rotation makes current; None until its key is in the keyring."""
        return next((version for version in self.versions if version.id == self.version), None)

    @property
    def old_version(self) -> KeyVersion | None:
        """The version that the last rotation replaces; None before the first rotation."""
        others = [version for version in self.versions if version.id != self.version]
        used = [version for version in others if not self.is_cancelled(version.id)]
        return used[-1] if used else None

    @property
    def replaced_versions(self) -> tuple[KeyVersion, ...]:
        """The versions that no file should contain after the last rotation, and whose keys are still in the keyring."""
        if self.secret is None:
            return ()
        is_cancelled = bool(self.version) and self.is_cancelled(self.version)
        remaining = self.secret.current.id if is_cancelled else self.version
        others = self.secret.with_labels("current", "previous", "retired", "dead")
        return tuple(version for version in others if version.id != remaining)

    @property
    def fallback_version(self) -> KeyVersion | None:
        """The version to restore if the last rotation is cancelled; None if that version is out of use."""
        if self.secret is None:
            return None
        new = self.new_version
        if new is None or new.label in ("pending", "retired"):  # the new version never was, or no longer is, current
            return self.secret.current
        return self.secret.find_label("previous") if new.label == "current" else None

    @property
    def unrecorded_version(self) -> KeyVersion | None:
        """The version of an open rotation whose beginning is not in the ledger: the ledger was lost. None if intact."""
        if self.secret is None or not self.secret.with_labels("pending", "previous", "retired"):
            return None  # no rotation is open
        newest = self.versions[-1]
        # the first version has no record of a beginning: its key existed before the first rotation
        return None if newest.id in {FIRST, *(record.version for record in self.openings)} else newest

    @property
    def mode(self) -> str:
        """The mode of the last rotation: scheduled or compromised."""
        return str(self.opening.evidence.get("mode", SCHEDULED)) if self.opening else SCHEDULED

    @property
    def grace_seconds(self) -> int:
        """The seconds for which the old key stays active after the rotation settles; 0 for none."""
        return int(self.opening.evidence.get("grace", 0)) if self.opening else 0

    @property
    def grace_end(self) -> str:
        """The time until which the old key stays active; empty for none."""
        for record in reversed(self.records_of(self.version)):
            if (record.step, record.result) == ("settle", "ok"):
                return str(record.evidence.get("until", ""))
        return ""

    @property
    def replaces_at_once(self) -> bool:
        """True if creating the new key revokes the old key, not dead yet: both are of a kind in AT_ONCE."""
        if self.opening is None or self.secret is None:
            return False
        # until the new key exists, its kind is the one that was expected at the beginning
        new_kind = self.new_version.kind if self.new_version else str(self.opening.evidence.get("kind", ""))
        others = [version for version in self.versions if version.id != self.version]
        usable_kinds = {version.kind for version in others if version.label not in ("dead", "purged")}
        return new_kind in AT_ONCE and bool(usable_kinds & set(AT_ONCE))

    @property
    def is_urgent(self) -> bool:
        """True if the targets have no valid key until they get the new one."""
        return self.replaces_at_once or self.mode == COMPROMISED

    def last_seq(self, step: str, version: str, *results: str) -> int:
        """Return the number of the last record of a step with one of the results; 0 if no record matches.

        Without results, any result matches. Records about single targets are ignored.
        """
        for record in reversed(self.own_records):
            is_about_step = (record.step, record.version, record.target) == (step, version, "")
            if is_about_step and (not results or record.result in results):
                return record.seq
        return 0

    def last_verdict(self, step: str, version: str) -> str:
        """Return the last verdict of the services on a version in a step; empty if no service was asked."""
        records = [record for record in self.records_of(version) if record.step == step and record.verdict]
        return records[-1].verdict if records else ""

    def states(self, version: str) -> dict[str, str]:
        """Return the state of each target for a version; "unknown" if nothing is recorded for this version.

        The targets are those of the inventory, of the versions in use, and of the version's records.
        """
        recorded = target_states(self.own_records, self.name, version)
        active_versions = self.secret.with_labels("pending", "current", "previous") if self.secret else ()
        labelled_targets = [target for active_version in active_versions for target in active_version.targets]
        all_targets = {*self.targets, *labelled_targets, *recorded}
        return {target: recorded.get(target, "unknown") for target in sorted(all_targets)}

    def unsettled_targets(self, version: str) -> tuple[str, ...]:
        """Return the targets that are neither verified nor excused, and have a key."""
        return tuple(target for target, state in self.states(version).items() if state not in SETTLED)

    def absent_targets(self, version: str) -> tuple[str, ...]:
        """Return the targets that had no key when last read. Onboarding may have installed a key since."""
        return tuple(target for target, state in self.states(version).items() if state == "absent")

    @property
    def pending_targets(self) -> tuple[str, ...]:
        """The targets that onboarding must not change, because a rotation is open; none if no version is pending.

        A target without a key is not one of them, so that onboarding can write the key.
        """
        pending = self.secret.find_label("pending") if self.secret else None
        states = self.states(pending.id) if pending else {}
        return tuple(target for target, state in states.items() if state != "absent")

    def unread_targets(self, version: str) -> tuple[str, ...]:
        """Return the targets to read before the rotation settles.

        A target must be read after the last change of any target, and after this run began to settle. A target that has
        no key counts as read. An excused target is not read.
        """
        records = self.records_of(version)
        write_seqs = [record.seq for record in records if record.step in WRITING_STEPS]
        start_seq = max([self.last_seq("settle", version, "begun"), *write_seqs])
        reads = [record for record in records if record.seq > start_seq and record.step == "settle"]
        read_targets = {
            record.target for record in reads if record.result == "verified" or record.evidence.get("found") == NO_KEY
        }
        return tuple(
            target
            for target, state in self.states(version).items()
            if state != "excused" and target not in read_targets
        )

    def retired_seq(self, version: str) -> int:
        """Return the number of the record that the user deactivated the version; 0 without such a record."""
        return self.last_seq("retire", version, "ok")

    def is_revoked(self, version: str) -> bool:
        """Return True if creating the new key may have revoked this version."""
        # any record of "take" counts: even if the step only began, the new key may exist
        return self.replaces_at_once and version != self.version and bool(self.last_seq("take", self.version))

    def may_be_dead(self, version: str) -> bool:
        """Return True if the issuer may refuse the version's key."""
        return self.is_revoked(version) or bool(self.last_seq("retire", version, "begun", "ok"))

    def is_cancelled(self, version: str) -> bool:
        """Return True if the rotation to this version is cancelled, or being cancelled."""
        # a rotation can also be cancelled after it has settled
        return self.last_seq("abort", version) > self.last_seq("settle", version, "ok")

    def possible_holders(self, version: str) -> tuple[str, ...]:
        """Return the targets that may have the key of a version whose rotation is cancelled; () after it has ended."""
        if self.last_seq("abort", version, "ok"):  # every target was restored or excused
            return ()
        if self.last_seq("settle", version, "ok"):  # onboarding may have installed the current version on any target
            states = self.states(version)
            return tuple(target for target, state in states.items() if state not in ("rolled_back", "excused"))
        # a version that was never current is only on targets to which the rotation has written
        records_by_target: dict[str, list[Record]] = {}
        for record in self.records_of(version):
            records_by_target.setdefault(record.target, []).append(record)
        return tuple(target for target, records in sorted(records_by_target.items()) if target and _may_hold(records))


def _may_hold(records: Iterable[Record]) -> bool:
    """Return True if a target may have a version that was never current. records: about both, oldest first.

    A write that was refused changed nothing, so it does not matter. A write without a result may have been made.
    """
    may_hold = is_writing = False  # is_writing: a write has begun and has no result yet
    for record in records:
        if record.result in UNTOUCHED or "found" in record.evidence:  # "found": the target has no version of the key
            may_hold = is_writing = False
        elif record.result == "begun":
            may_hold, is_writing = may_hold or is_writing, record.step in WRITING_STEPS
        elif record.step in WRITING_STEPS:
            was_refused = record.result in REFUSALS and not record.verdict
            may_hold, is_writing = may_hold or not was_refused, False
        elif record.result == "verified":
            may_hold = True
    return may_hold or is_writing


def describe_lost_ledger(secrets: Iterable[Secret], records: Sequence[Record]) -> str:
    """Return a sentence that names the open rotations missing from an intact ledger; empty if none is missing."""
    names = [f"'{secret.name}'" for secret in secrets if Situation(secret.name, secret, records).unrecorded_version]
    if not names:
        return ""
    return f"The ledger of rotations was removed or replaced, and does not contain the rotation of {', '.join(names)}"
