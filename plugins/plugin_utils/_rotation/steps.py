# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a rotation as they are taken: first the intent on the disk, then the deed, then what came of it.

Each step may be taken again after a crash anywhere in it. What it does outside (Outside) and where it
writes (Book, Labels) are handed in; of a key only its version is known here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .._secrets import versions
from .delivery import WORKS, Delivery
from .next_step import RotationError, Step, may_begin, unconfirmed, why_not_retire
from .ports import Found, NotHeld, Refused, Unanswered
from .standing import COMPROMISED, SCHEDULED, Situation

REFUSED = (
    "the new key is refused where it was made, so no account was touched: activate it again if it was deactivated in"
    " place of the old one; go on at the other machine if the key was rotated there since"
)
EXPECTED = {  # the labels that a version may have for a step, so that no step is ever taken on another one
    "plan": ("",),
    "take": ("", "pending"),
    "prove": ("pending",),
    "canary": ("pending",),
    "spread": ("pending", "current"),
    "settle": ("pending", "current"),
    "retire": ("current", "previous", "retired"),
    "prove_dead": ("retired", "dead"),
    "purge": ("dead", "purged"),
    "abort": ("", "pending", "current", "retired"),
}


@dataclass(frozen=True)
class Rotation(Delivery):
    """The rotation of one secret: what takes its steps."""

    grace_until: str = ""

    def begin(
        self,
        kind: str,
        mode: str = SCHEDULED,
        first_kind: str = "",
        fingerprint: str = "",
        grace: int = 0,
        sealed: str = "",
    ) -> str:
        """Open a rotation: the version that is to be made, named before it is. Raises RotationError.

        fingerprint, sealed: of the key that was there before any rotation; grace: for how many seconds after it
        settles the old version is to live.
        """
        why = may_begin(self.situation())
        if why:
            raise RotationError(why)
        self.labels.adopt(first_kind or kind, fingerprint, self.wanted, sealed)
        version = versions.new_id()
        evidence: dict[str, str | int] = {"mode": mode, "kind": kind, **({"grace": grace} if grace else {})}
        self.note("plan", "begun", version, evidence=evidence)
        return version

    def take_step(self, step: Step) -> None:
        """Take a step that next_step gave. What is not done is in the ledger; the disk's errors are raised."""
        ways: dict[str, Callable[[Step], None]] = {
            "plan": self._plan,
            "take": self._take,
            "prove": self._prove,
            "canary": self._spread,
            "spread": self._spread,
            "settle": self._settle,
            "retire": self._retire,
            "prove_dead": self._prove_dead,
            "purge": self._purge,
            "abort": self._abort,
        }
        if step.name in ways:
            label = self.label_of(step.version)
            if label not in EXPECTED[step.name]:
                raise RotationError(
                    f"{step.name} is not for a version that is {label or 'not made yet'}: resume instead"
                )
            ways[step.name](step)

    def excuse(self, target: str, until: str = "") -> None:
        """Go on without this target, until a moment."""
        evidence: dict[str, str | int] = {"until": until} if until else {}
        now = self.situation()
        version = now.secret.current.id if now.secret and now.given_up(now.version) else now.version
        self.note("excuse", "excused", version, target, Found("", evidence))

    def end_grace(self) -> None:
        """The previous version may be retired now, whatever was set."""
        secret = self.labels.secret()
        previous = secret.one("previous") if secret else None
        if previous:
            self.note("grace", "ok", previous.id)

    def give_up(self) -> None:
        """Abort the rotation: nothing is left of the new version. Raises RotationError where the old one is gone."""
        now = self.situation()
        if not now.version or now.secret is None or now.last("abort", now.version, "ok"):
            raise RotationError(f"no rotation of '{self.name}' is open: there is nothing to abort")
        if now.way_back is None:
            raise RotationError(f"the old key of '{self.name}' is out of use already: rotate again to replace this one")
        if now.maybe_gone(now.way_back.id):
            raise RotationError(f"the old key of '{self.name}' may be dead already: resume, the new one is needed")
        self.note("abort", "begun", now.version)

    def _plan(self, step: Step) -> None:
        for target in step.targets:
            self.look(target, step)
        self.note("plan", "ok", step.version)

    def look(self, target: str, step: Step) -> None:
        """Look whether a target is ready; any process may do this for any target."""
        try:
            self.note("plan", "staged", step.version, target, self.outside.probe(target))
        except Refused as error:
            self.turned_down("plan", step.version, target, error)
        except Unanswered:
            self.note("plan", "unreachable", step.version, target)

    def read(self, target: str, step: Step) -> None:
        """See whether a target holds the version, before it settles; any process may do this for any target."""
        try:
            found = self.outside.read(target, step.version)
        except Unanswered:
            self.note("settle", "unreachable", step.version, target)
        except Refused as error:
            self.turned_down("settle", step.version, target, error)
        else:
            self.note("settle", "verified" if found.verdict in WORKS else "failed", step.version, target, found)

    def unless_refused(self, step: Step) -> Step:
        """The step, with an obstacle where targets are to work by a current version that is refused.

        It was deactivated in place of the old one, or another machine has replaced it. A target that cannot try it
        would be given a dead key.
        """
        version = next((one.id for one in self.known_versions() if one.label == "current"), "")
        if step.name != "retire" or not step.targets or self._asked(version).verdict not in ("invalid", "not_entitled"):
            return step
        return replace(step, obstacle=REFUSED)

    def confirm(self, target: str) -> bool:
        """See whether a target works without the old key; any process may do this for any target."""
        return self._confirmed(target)

    def take_back(self, target: str, step: Step) -> None:
        """Bring back to a target what was there before a version that is given up; any process may do this."""
        self.put_back(target, "abort", step.version)

    def _take(self, step: Step) -> None:
        version = step.version
        self.note("take", "begun", version)
        try:
            taken = self.outside.take(version)
        except (Refused, Unanswered):
            return
        if not self.label_of(version):
            self.labels.move(lambda secret: versions.begin(secret, replace(taken, id=version, targets=self.wanted)))
        self.note("take", "ok", version)

    def _prove(self, step: Step) -> None:
        found = self._asked(step.version)
        day = self.outside.last_day(step.version)
        if day:
            self.labels.move(lambda secret: versions.ending(secret, step.version, day))
        self.note("prove", "ok" if found.verdict == "valid" else "failed", step.version, found=found)

    def _asked(self, version: str) -> Found:
        try:
            return self.outside.prove(version)
        except (Refused, Unanswered):
            return Found("unreachable")

    def _spread(self, step: Step) -> None:
        for target in step.targets:
            self.deliver(target, step)

    def _settle(self, step: Step) -> None:
        if step.version != self.situation().version:
            raise RotationError("another version than the rotation's cannot settle: resume instead")
        for target in step.targets:
            self.read(target, step)
        now = self.situation()
        if now.unsettled(step.version) or now.unread(step.version):
            return
        if self.label_of(step.version) == "pending":
            targets = tuple(now.states(step.version))
            self.labels.move(lambda secret: versions.promote(secret, step.version, targets))
        until = now.until or self.grace_until  # a date that was said stays
        self.note("settle", "ok", step.version, evidence={"until": until} if until else {})

    def _retire(self, step: Step) -> None:
        """Deactivate a version, then see that every target works without it; if one does not, it comes back."""
        version, now = step.version, self.situation()
        if not now.gone(version) or self.label_of(version) == "previous":
            why = why_not_retire(now, version)
            if why:
                raise RotationError(why)
            if not self._deactivate(version, now):
                return
        left = unconfirmed(self.situation(), version)
        works = [self._confirmed(target) for target in left]
        if not all(works) and not now.revoked(version) and now.mode != COMPROMISED:
            self._reactivate(version)

    def _deactivate(self, version: str, now: Situation) -> bool:
        self.note("retire", "begun", version)
        if self.label_of(version) == "previous":
            self.labels.move(lambda secret: versions.retire(secret, version))
        if not now.gone(version) and not now.revoked(version):
            try:
                self.outside.deactivate(version)
            except (Refused, Unanswered) as error:
                self.note("retire", "refused" if isinstance(error, Refused) else "unknown", version)
                return False
        self.note("retire", "ok", version)
        return True

    def _confirmed(self, target: str) -> bool:
        """Whether nothing says that the current version does not work on the target."""
        version = next(one.id for one in self.known_versions() if one.label == "current")
        try:
            found = self.outside.verify(target, version)
        except NotHeld as error:
            self.turned_down("retire", version, target, error)
            return True
        except (Refused, Unanswered):
            return True
        if found.verdict in WORKS:
            self.note("retire", "verified", version, target, found)
        elif found.verdict == "invalid":
            self.note("retire", "failed", version, target, found)
            return False
        return True

    def _reactivate(self, version: str) -> None:
        """Noted before it is done: whatever comes of it, the version is to be retired once more."""
        self.note("retire", "reactivated", version)
        try:
            self.outside.reactivate(version)
        except (Refused, Unanswered):
            return
        self.labels.move(lambda secret: versions.reactivate(secret, version))

    def _abort(self, step: Step) -> None:
        """What was there before comes back to every target, then the version is out of use."""
        version = step.version
        if self.label_of(version) == "current":
            self.labels.move(lambda secret: versions.step_down(secret, version))
            return
        if not self.label_of(version):
            try:
                self.outside.forget(version)
            except (Refused, Unanswered):
                return
        else:
            for target in self.situation().possible_holders(version):
                self.put_back(target, "abort", version)
            if self.situation().possible_holders(version):
                return
            if self.label_of(version) == "pending":
                self.labels.move(lambda secret: versions.abort(secret, version))
        self.note("abort", "ok", version)

    def _prove_dead(self, step: Step) -> None:
        found = self._asked(step.version)
        if found.verdict != "invalid":
            self.note("prove_dead", "failed", step.version, found=found)
            return
        if self.label_of(step.version) == "retired":
            self.labels.move(lambda secret: versions.dead(secret, step.version))
        self.note("prove_dead", "ok", step.version, found=found)

    def _purge(self, step: Step) -> None:
        self.note("purge", "begun", step.version)
        try:
            self.outside.forget(step.version)
        except (Refused, Unanswered):
            return
        if self.label_of(step.version) == "dead":
            self.labels.move(lambda secret: versions.purge(secret, step.version))
        self.note("purge", "ok", step.version)
