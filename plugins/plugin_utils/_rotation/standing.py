# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a rotation: the labels, the ledger and the accounts, and the questions a decision asks of them.

Order is the order of the ledger; the clock is asked only whether an excuse is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .._secrets.versions import AT_ONCE, FIRST, Secret, Version
from .._state.signed_record import Record
from .ledger import NO_KEY, state_of

SCHEDULED, COMPROMISED = "scheduled", "compromised"
UNTOUCHED = ("staged", "rolled_back")  # states in which a target surely holds what it held before
SETTLED = ("verified", "excused", "absent")
DEEDS = ("canary", "spread")  # steps that change targets


@dataclass(frozen=True)
class Situation:
    """All that a decision is made from: labels, the ledger's records, and the targets of the inventory."""

    name: str
    secret: Secret | None
    records: Sequence[Record]
    wanted: tuple[str, ...] = ()
    canary: str = ""
    now: str = ""

    @cached_property
    def mine(self) -> list[Record]:
        """The records of this secret, oldest first."""
        return [one for one in self.records if one.secret == self.name]

    @cached_property
    def opening(self) -> Record | None:
        """The record that began the last rotation."""
        found = [one for one in self.mine if one.step == "plan" and one.result == "begun" and not one.target]
        return found[-1] if found else None

    @property
    def version(self) -> str:
        """The version that the last rotation is to make current; empty where none ever was."""
        return self.opening.version if self.opening else ""

    @property
    def unrecorded(self) -> Version | None:
        """The version of the last rotation where labels call it open and no record begins it: the ledger is lost."""
        secret = self.secret
        if secret is None or not secret.labelled("pending", "previous", "retired"):
            return None
        begun = {one.version for one in self.mine if (one.step, one.result, one.target) == ("plan", "begun", "")}
        newest = secret.versions[-1]
        return None if newest.id in {FIRST, *begun} else newest

    @property
    def mode(self) -> str:
        """Scheduled or compromised, as it was begun."""
        return str(self.opening.evidence.get("mode", SCHEDULED)) if self.opening else SCHEDULED

    @property
    def grace(self) -> int:
        """For how many seconds after it settles the old key is to live, as it was begun."""
        return int(self.opening.evidence.get("grace", 0)) if self.opening else 0

    @property
    def until(self) -> str:
        """The moment until which the version before the last rotation's is kept alive; empty for none."""
        settled = [one for one in self.mine if (one.step, one.result) == ("settle", "ok")]
        mine = [one for one in settled if one.version == self.version]
        return str(mine[-1].evidence.get("until", "")) if mine else ""

    @property
    def replaced(self) -> Version | None:
        """The version that the last rotation replaces, or is to."""
        versions = self.secret.versions if self.secret else ()
        before = [one for one in versions if one.id != self.version and not self.given_up(one.id)]
        return before[-1] if before else None

    @property
    def way_back(self) -> Version | None:
        """The version that comes back where the last rotation is given up; None where it is out of use."""
        if self.secret is None or self.made is None or self.made.label in ("pending", "retired"):
            return self.secret.current if self.secret else None
        return self.secret.one("previous") if self.made.label == "current" else None

    @property
    def made(self) -> Version | None:
        """The version of the last rotation, once it is among the labels."""
        versions = self.secret.versions if self.secret else ()
        return next((one for one in versions if one.id == self.version), None)

    @property
    def at_once(self) -> bool:
        """Whether the new key revokes the one before as soon as it is made."""
        if self.opening is None or self.secret is None:
            return False
        kind = self.made.kind if self.made else str(self.opening.evidence.get("kind", ""))
        before = [one for one in self.secret.versions if one.id != self.version and one.label not in ("dead", "purged")]
        return kind in AT_ONCE and any(one.kind in AT_ONCE for one in before)

    @property
    def hasty(self) -> bool:
        """Whether the targets are without a living key until the new one is there."""
        return self.at_once or self.mode == COMPROMISED

    def last(self, step: str, version: str, *results: str) -> int:
        """The number of the last record of a step with one of the results (any), not of a target; 0 for none."""
        for one in reversed(self.mine):
            if (one.step, one.version, one.target) == (step, version, "") and (not results or one.result in results):
                return one.seq
        return 0

    def open_step(self, step: str, version: str) -> bool:
        """Whether a step was begun and nothing is known of its end."""
        return self.last(step, version, "begun") > self.last(step, version, "ok", "failed", "refused", "reactivated")

    def states(self, version: str) -> dict[str, str]:
        """Every target that counts for a version, and its state: those of the inventory and all that had a key."""
        known = state_of(self.mine, self.name, version)
        versions = self.secret.labelled("pending", "current", "previous") if self.secret else ()
        scope = {*self.wanted, *(target for one in versions for target in one.targets), *known}
        return {target: self._excuse(version, target, known.get(target, "unknown")) for target in sorted(scope)}

    def _excuse(self, version: str, target: str, state: str) -> str:
        """The state, where an excuse that is over counts no more."""
        if state != "excused" or not self.now:
            return state
        given = [one for one in self.mine if (one.version, one.target, one.result) == (version, target, "excused")]
        until = str(given[-1].evidence.get("until", ""))
        return "unknown" if until and until <= self.now else state

    def unsettled(self, version: str) -> tuple[str, ...]:
        """The targets that are neither verified nor excused."""
        return tuple(t for t, state in self.states(version).items() if state not in SETTLED)

    def absent(self, version: str) -> tuple[str, ...]:
        """The targets that held no key when they were last looked at; onboarding may have created one since."""
        return tuple(t for t, state in self.states(version).items() if state == "absent")

    @property
    def pending(self) -> tuple[str, ...]:
        """The targets of the rotation that is open; none where the labels know of none."""
        made = self.secret.one("pending") if self.secret else None
        return tuple(t for t, state in self.states(made.id).items() if state != "absent") if made else ()

    def unread(self, version: str) -> tuple[str, ...]:
        """The targets that were not seen to hold the version since the last one was changed, or a settling began."""
        deeds = [one.seq for one in self.mine if one.version == version and one.target and one.step in DEEDS]
        since = max([self.last("settle", version, "begun"), *deeds])
        seen = {
            one.target
            for one in self.mine
            if one.seq > since
            and (one.version, one.step) == (version, "settle")
            and (one.result == "verified" or one.evidence.get("found") == NO_KEY)
        }
        return tuple(t for t, state in self.states(version).items() if state != "excused" and t not in seen)

    def gone(self, version: str) -> int:
        """The number of the record that says the version is deactivated; 0 where none does, or it lives again."""
        ended = self.last("retire", version, "ok")
        return ended if ended > self.last("retire", version, "reactivated") else 0

    def revoked(self, version: str) -> bool:
        """Whether the key that was made since may have revoked this version at once."""
        return self.at_once and version != self.version and bool(self.last("take", self.version))

    def maybe_gone(self, version: str) -> bool:
        """Whether the version may be refused where it was made, as far as is known."""
        tried = self.last("retire", version, "begun", "unknown")
        return bool(self.gone(version)) or self.revoked(version) or tried > self.last("retire", version, "reactivated")

    def given_up(self, version: str) -> bool:
        """Whether the version was aborted, before it was current or since."""
        return self.last("abort", version) > self.last("settle", version, "ok")

    def possible_holders(self, version: str) -> tuple[str, ...]:
        """The targets that may hold a version that was given up; onboarding brings a settled one anywhere."""
        if self.last("settle", version, "ok"):
            return tuple(t for t, state in self.states(version).items() if state not in ("rolled_back", "excused"))
        tried = {one.target for one in self.mine if one.version == version and one.step in ("canary", "spread")}
        known = state_of(self.mine, self.name, version).items()
        return tuple(
            target for target, state in known if target in tried and state not in (*UNTOUCHED, "excused", "absent")
        )


def unrecorded(secrets: Iterable[Secret], records: Sequence[Record]) -> str:
    """Return why the ledger is not whole though every line fits: it lacks a rotation that labels know of."""
    names = [f"'{one.name}'" for one in secrets if Situation(one.name, one, records).unrecorded]
    if not names:
        return ""
    return f"The ledger of rotations was removed or replaced: it does not know of the rotation of {', '.join(names)}"
