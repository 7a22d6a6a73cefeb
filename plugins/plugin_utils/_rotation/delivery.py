# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bringing a version to one target and verifying it there; what every step writes down goes this way too.

First the intent on the disk, then the deed, then what came of it. Targets do not wait for each other:
any process may deliver to any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._secrets import versions
from .._secrets.versions import Version
from .._state.signed_record import Event
from .ledger import NO_KEY
from .next_step import RotationError, Step
from .ports import Book, Found, Labels, NotHeld, Outdated, Outside, Refused, Unanswered, Unreachable
from .standing import SCHEDULED, Situation

WORKS = ("valid", "not_entitled", "inconclusive", "unknown")  # nothing speaks against the key on the target


@dataclass(frozen=True)
class Delivery:
    """What one secret's versions are delivered with: where is written, and what can be done in the world."""

    name: str
    book: Book
    labels: Labels
    outside: Outside
    wanted: tuple[str, ...] = ()
    canary: str = ""
    now: str = ""

    def situation(self) -> Situation:
        """What is known now."""
        labels = self.labels.secret()
        return Situation(self.name, labels, self.book.records(), self.wanted, self.canary, self.now)

    def recover(self) -> bool:
        """Begin in the ledger what only the labels know of, so that every account is asked; False for nothing to do.

        What a target holds is recorded as unknown: it may be either key. The opening is recorded last, since it is
        what says that this was done.
        """
        now = self.situation()
        lost = now.unrecorded
        if lost is None:
            return False
        for target in () if lost.label == "retired" else now.states(lost.id):  # given up: it was put back everywhere
            self.note("spread", "begun", lost.id, target)
        self.note("take", "ok", lost.id)
        self.note("plan", "begun", lost.id, evidence={"mode": SCHEDULED, "kind": lost.kind})
        return True

    def ask_again(self) -> None:
        """Let this run look at the targets that held no key: onboarding may have installed the old one since."""
        now = self.situation()
        if now.made and now.made.label == "pending" and not now.given_up(now.version):
            for target in now.absent(now.version):
                self.note("plan", "begun", now.version, target)

    def deliver(self, target: str, step: Step) -> None:
        """Bring the version to one target, and verify it there; any process may do this for any target."""
        if self.label_of(step.version) not in ("pending", "current"):
            raise RotationError("only a version that is pending or current is brought to targets: resume instead")
        label = "canary" if step.name == "canary" else "spread"
        try:
            self.note(label, "begun", step.version, target)
            found = self.outside.install(target, step.version)
            self.note(label, "installed", step.version, target, found)
        except Refused as error:
            self.turned_down(label, step.version, target, error)
        except Unanswered:
            self.note(label, "unknown", step.version, target)
        else:
            self._verify(target, label, step.version)

    def turned_down(self, step: str, version: str, target: str, error: Refused) -> None:
        """Write down why a target was not given a version, or not seen to hold it. One without a key is none."""
        found: dict[str, str | int] = {"found": error.found} if isinstance(error, NotHeld) else {}
        result = "excused" if found.get("found") == NO_KEY else "failed"
        result = {Unreachable: "unreachable", Outdated: "refused"}.get(type(error), result)
        self.note(step, result, version, target, evidence=found)

    def note(
        self,
        step: str,
        result: str,
        version: str,
        target: str = "",
        found: Found | None = None,
        evidence: dict[str, str | int] | None = None,
    ) -> None:
        """Write down what is begun or came of it."""
        found = found or Found("", evidence or {})
        known = self.known_versions()
        mine = next((one for one in known if one.id == version), None)
        sequence = mine.sequence if mine else versions.next_sequence(known)
        fingerprint = mine.fingerprint if mine else ""
        event = Event(self.name, step, result, version, target, fingerprint, found.verdict, found.evidence, sequence)
        self.book.append(event)

    def known_versions(self) -> tuple[Version, ...]:
        """The versions of the secret; none before its first rotation."""
        secret = self.labels.secret()
        return secret.versions if secret else ()

    def label_of(self, version: str) -> str:
        """What a version is labelled, or nothing for one that is not made yet."""
        return next((one.label for one in self.known_versions() if one.id == version), "")

    def _verify(self, target: str, label: str, version: str) -> None:
        try:
            found = self.outside.verify(target, version)
        except (Refused, Unanswered):
            return
        if found.verdict in WORKS:
            self.note(label, "verified", version, target, found)
        elif found.verdict == "invalid":
            self._refused(target, label, version, found)

    def _refused(self, target: str, label: str, version: str, found: Found) -> None:
        """The key does not work there: what was there comes back, unless that is dead."""
        secret = self.labels.secret()
        if secret and self.label_of(version) == "pending" and not self.situation().maybe_gone(secret.current.id):
            self.put_back(target, label, version, found)
        else:
            self.note(label, "failed", version, target, found)

    def put_back(self, target: str, label: str, version: str, found: Found | None = None) -> None:
        """Bring back what was there before the version. found: why, when the key itself was refused there."""
        self.note(label, "begun", version, target)
        try:
            self.outside.put_back(target, version)
        except NotHeld as error:  # so it does not hold the version either
            self.note(label, "rolled_back", version, target, evidence={"found": error.found})
        except (Refused, Unanswered):
            self.note(label, "unknown", version, target, found)
        else:
            self.note(label, "rolled_back", version, target, found)
