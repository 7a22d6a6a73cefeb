# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about a rotation from the labels, the ledger and the inventory. Pure functions.

Events are ordered by the ledger; the clock decides only whether a grace is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .._secrets.versions import AT_ONCE, FIRST, KeyVersion, Secret
from .._state.signed_record import Record
from .ledger import NO_KEY, target_states

SCHEDULED, COMPROMISED = "scheduled", "compromised"
SETTLED = ("verified", "excused", "absent")
UNTOUCHED = ("staged", "rolled_back", "excused", "absent")  # states of a target that holds what it held before
DEEDS = ("canary", "spread")  # steps that change targets


@dataclass(frozen=True)
class Situation:
    """The labels, the ledger's records and the targets of the inventory, from which the next step is decided."""

    name: str
    secret: Secret | None
    records: Sequence[Record]
    targets: tuple[str, ...] = ()
    canary: str = ""
    now: str = ""

    @cached_property
    def own_records(self) -> list[Record]:
        """The records of this secret, oldest first."""
        return [one for one in self.records if one.secret == self.name]

    @cached_property
    def opening(self) -> Record | None:
        """The record that began the last rotation."""
        found = [one for one in self.own_records if (one.step, one.result, one.target) == ("plan", "begun", "")]
        return found[-1] if found else None

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
        """The version of the last rotation, once it has a label."""
        return next((one for one in self.versions if one.id == self.version), None)

    @property
    def old_version(self) -> KeyVersion | None:
        """The version that the last rotation replaces."""
        before = [one for one in self.versions if one.id != self.version and not self.is_given_up(one.id)]
        return before[-1] if before else None

    @property
    def fallback_version(self) -> KeyVersion | None:
        """The version that comes back if the last rotation is given up; None if it is out of use."""
        new = self.new_version
        if self.secret is None or new is None or new.label in ("pending", "retired"):
            return self.secret.current if self.secret else None
        return self.secret.find_label("previous") if new.label == "current" else None

    @property
    def unrecorded_version(self) -> KeyVersion | None:
        """The version of an open rotation that no record begins: the ledger was lost."""
        if self.secret is None or not self.secret.with_labels("pending", "previous", "retired"):
            return None
        begun = {one.version for one in self.own_records if (one.step, one.result, one.target) == ("plan", "begun", "")}
        newest = self.versions[-1]
        return None if newest.id in {FIRST, *begun} else newest

    @property
    def mode(self) -> str:
        """Scheduled or compromised, as the rotation was begun."""
        return str(self.opening.evidence.get("mode", SCHEDULED)) if self.opening else SCHEDULED

    @property
    def grace_seconds(self) -> int:
        """For how many seconds the old key stays alive after the rotation settles."""
        return int(self.opening.evidence.get("grace", 0)) if self.opening else 0

    @property
    def grace_end(self) -> str:
        """The moment until which the old key is kept alive; empty for none."""
        settled = [one for one in self.own_records if (one.step, one.result) == ("settle", "ok")]
        own = [one for one in settled if one.version == self.version]
        return str(own[-1].evidence.get("until", "")) if own else ""

    @property
    def replaces_at_once(self) -> bool:
        """True if making the new key revokes the old one."""
        if self.opening is None or self.secret is None:
            return False
        kind = self.new_version.kind if self.new_version else str(self.opening.evidence.get("kind", ""))
        before = [one for one in self.versions if one.id != self.version and one.label not in ("dead", "purged")]
        return kind in AT_ONCE and any(one.kind in AT_ONCE for one in before)

    @property
    def is_urgent(self) -> bool:
        """True if the targets have no living key until they get the new one."""
        return self.replaces_at_once or self.mode == COMPROMISED

    def last_seq(self, step: str, version: str, *results: str) -> int:
        """Return the number of the step's last record that is not about a target; 0 for none.

        results: those that count; any if none is given.
        """
        for one in reversed(self.own_records):
            if (one.step, one.version, one.target) == (step, version, "") and (not results or one.result in results):
                return one.seq
        return 0

    def states(self, version: str) -> dict[str, str]:
        """Return the state of every target of a version: those of the inventory and all that had a key."""
        known = target_states(self.own_records, self.name, version)
        versions = self.secret.with_labels("pending", "current", "previous") if self.secret else ()
        scope = {*self.targets, *(target for one in versions for target in one.targets), *known}
        return {target: known.get(target, "unknown") for target in sorted(scope)}

    def unsettled_targets(self, version: str) -> tuple[str, ...]:
        """Return the targets that are neither verified nor excused."""
        return tuple(target for target, state in self.states(version).items() if state not in SETTLED)

    def absent_targets(self, version: str) -> tuple[str, ...]:
        """Return the targets that held no key when they were last read; onboarding may have created one since."""
        return tuple(target for target, state in self.states(version).items() if state == "absent")

    @property
    def pending_targets(self) -> tuple[str, ...]:
        """The targets of the open rotation; none if no version is pending."""
        pending = self.secret.find_label("pending") if self.secret else None
        states = self.states(pending.id) if pending else {}
        return tuple(target for target, state in states.items() if state != "absent")

    def unread_targets(self, version: str) -> tuple[str, ...]:
        """Return the targets that were not read since the last one was changed, or since settling began."""
        deeds = [one.seq for one in self.own_records if one.version == version and one.target and one.step in DEEDS]
        since = max([self.last_seq("settle", version, "begun"), *deeds])
        read = {
            one.target
            for one in self.own_records
            if one.seq > since
            and (one.version, one.step) == (version, "settle")
            and (one.result == "verified" or one.evidence.get("found") == NO_KEY)
        }
        return tuple(t for t, state in self.states(version).items() if state != "excused" and t not in read)

    def retired_seq(self, version: str) -> int:
        """Return the number of the record that says the version was deactivated; 0 for none."""
        return self.last_seq("retire", version, "ok")

    def is_revoked(self, version: str) -> bool:
        """Return True if the new key may have revoked this version when it was made."""
        return self.replaces_at_once and version != self.version and bool(self.last_seq("take", self.version))

    def may_be_dead(self, version: str) -> bool:
        """Return True if the version may be refused where it was made."""
        return self.is_revoked(version) or bool(self.last_seq("retire", version, "begun", "ok"))

    def is_given_up(self, version: str) -> bool:
        """Return True if the version was aborted, before it was current or since."""
        return self.last_seq("abort", version) > self.last_seq("settle", version, "ok")

    def possible_holders(self, version: str) -> tuple[str, ...]:
        """Return the targets that may hold a version that was given up; onboarding installs a settled one anywhere."""
        if self.last_seq("settle", version, "ok"):
            return tuple(t for t, state in self.states(version).items() if state not in ("rolled_back", "excused"))
        tried = {one.target for one in self.own_records if one.version == version and one.step in DEEDS}
        known = target_states(self.own_records, self.name, version).items()
        return tuple(target for target, state in known if target in tried and state not in UNTOUCHED)


def describe_lost_ledger(secrets: Iterable[Secret], records: Sequence[Record]) -> str:
    """Return which rotations the ledger lacks although every line fits; empty for none."""
    names = [f"'{one.name}'" for one in secrets if Situation(one.name, one, records).unrecorded_version]
    if not names:
        return ""
    return f"The ledger of rotations was removed or replaced: the rotation of {', '.join(names)} is not in it"
