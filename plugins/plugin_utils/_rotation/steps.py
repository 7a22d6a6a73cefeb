# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the steps of a rotation. The intent is recorded first, then the step is taken, then its result is recorded.

Each step can be taken again after a crash anywhere in it. Of a key, only its version is known here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._secrets import versions
from .delivery import WORKS, Delivery
from .next_step import RotationError, RotationStep, explain_no_begin, explain_no_retire
from .ports import EffectReport, KeyNotHeld, OutcomeUnknown, StepRefused
from .situation import SCHEDULED

NEW_KEY_REFUSED = (
    "the services do not accept the new key, so no account was changed. If you deactivated it by mistake, activate "
    "it again. If another machine has rotated the key since, continue there"
)
EXPECTED = {  # the labels that a version may have for a step, so that no step is taken on another version
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
    """The rotation of one secret."""

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
        """Open a rotation and return the id of the version that will be made. Raises RotationError.

        fingerprint, sealed: of the key that existed before any rotation; grace: for how many seconds after the rotation
        settles the old key stays alive.
        """
        reason = explain_no_begin(self.situation())
        if reason:
            raise RotationError(reason)
        self.store.read_or_adopt(first_kind or kind, fingerprint, self.targets, sealed)
        version = versions.new_id()
        evidence: dict[str, str | int] = {"mode": mode, "kind": kind, **({"grace": grace} if grace else {})}
        self.note("plan", "begun", version, evidence=evidence)
        return version

    def take_step(self, step: RotationStep) -> None:
        """Take a step that next_step gave. What is refused is recorded; an error of the disk is raised."""
        if step.name not in EXPECTED:
            return
        label = self.label_of(step.version)
        if label not in EXPECTED[step.name]:
            raise RotationError(
                f"the step {step.name} is not possible for a version that is {label or 'not made yet'}: run the "
                f"rotation with --resume"
            )
        if step.name in ("canary", "spread"):
            for target in step.targets:
                self.deliver(target, step)
            return
        take = {
            "plan": self._plan,
            "take": self._take,
            "prove": self._prove,
            "settle": self._settle,
            "retire": self._retire,
            "prove_dead": self._prove_dead,
            "purge": self._purge,
            "abort": self._abort,
        }
        take[step.name](step)

    def excuse(self, target: str) -> None:
        """Record that the rotation goes on without this target."""
        now = self.situation()
        version = now.secret.current.id if now.secret and now.is_given_up(now.version) else now.version
        self.note("excuse", "excused", version, target)

    def end_grace(self) -> None:
        """Record that the previous version may be retired now."""
        for one in self.known_versions():
            if one.label == "previous":
                self.note("grace", "ok", one.id)

    def give_up(self) -> None:
        """Begin to abort the rotation. Raises RotationError if the old key is gone."""
        now = self.situation()
        if not now.version or now.secret is None or now.last_seq("abort", now.version, "ok"):
            raise RotationError(f"no rotation of '{self.name}' is open: there is nothing to give up")
        if now.fallback_version is None:
            raise RotationError(
                f"the old key of '{self.name}' is already out of use: to replace the new key, rotate again"
            )
        if now.may_be_dead(now.fallback_version.id):
            raise RotationError(
                f"the old key of '{self.name}' may no longer work, so the new key is needed: run the "
                f"rotation with --resume"
            )
        self.note("abort", "begun", now.version)

    def unless_refused(self, step: RotationStep) -> RotationStep:
        """Return the step, with an obstacle if it has targets confirm a current version that is refused.

        That version was deactivated instead of the old one, or another machine has replaced it. A target that cannot
        try its key would be given a dead one.
        """
        version = next((one.id for one in self.known_versions() if one.label == "current"), "")
        if step.name != "retire" or not step.targets:
            return step
        is_refused = self._ask_services(version).verdict in ("invalid", "not_entitled")
        return replace(step, obstacle=NEW_KEY_REFUSED) if is_refused else step

    # What any process may do for any target

    def look(self, target: str, step: RotationStep) -> None:
        """Record whether a target is ready for the new key."""
        try:
            self.note("plan", "staged", step.version, target, self.effects.probe(target))
        except StepRefused as error:
            self.note_refusal("plan", step.version, target, error)
        except OutcomeUnknown:
            self.note("plan", "unreachable", step.version, target)

    def read(self, target: str, step: RotationStep) -> None:
        """Record whether a target holds the version, before the rotation settles."""
        try:
            found = self.effects.read(target, step.version)
        except OutcomeUnknown:
            self.note("settle", "unreachable", step.version, target)
        except StepRefused as error:
            self.note_refusal("settle", step.version, target, error)
        else:
            self.note("settle", "verified" if found.verdict in WORKS else "failed", step.version, target, found)

    def confirm(self, target: str) -> None:
        """Record whether a target works by the current version, after the old one was deactivated."""
        version = next(one.id for one in self.known_versions() if one.label == "current")
        try:
            found = self.effects.verify(target, version)
        except KeyNotHeld as error:
            self.note_refusal("retire", version, target, error)
        except (StepRefused, OutcomeUnknown):
            return
        else:
            if found.verdict in (*WORKS, "invalid"):
                result = "failed" if found.verdict == "invalid" else "verified"
                self.note("retire", result, version, target, found)

    # Steps

    def _plan(self, step: RotationStep) -> None:
        for target in step.targets:
            self.look(target, step)
        self.note("plan", "ok", step.version)

    def _take(self, step: RotationStep) -> None:
        version = step.version
        self.note("take", "begun", version)
        try:
            taken = self.effects.take(version)
        except (StepRefused, OutcomeUnknown):
            return
        if not self.label_of(version):
            pending = replace(taken, id=version, targets=self.targets)
            self.store.update(lambda secret: versions.add_pending(secret, pending))
        self.note("take", "ok", version)

    def _prove(self, step: RotationStep) -> None:
        found = self._ask_services(step.version)
        day = self.effects.last_day(step.version)
        if day:
            self.store.update(lambda secret: versions.set_last_day(secret, step.version, day))
        self.note("prove", "ok" if found.verdict == "valid" else "failed", step.version, found=found)

    def _ask_services(self, version: str) -> EffectReport:
        try:
            return self.effects.prove(version)
        except (StepRefused, OutcomeUnknown):
            return EffectReport("unreachable")

    def _settle(self, step: RotationStep) -> None:
        if step.version != self.situation().version:
            raise RotationError(
                "only the new version of this rotation can become current: run the rotation with --resume"
            )
        for target in step.targets:
            self.read(target, step)
        now = self.situation()
        if now.unsettled_targets(step.version) or now.unread_targets(step.version):
            return
        if self.label_of(step.version) == "pending":
            targets = tuple(now.states(step.version))
            self.store.update(lambda secret: versions.promote(secret, step.version, targets))
        until = now.grace_end or self.grace_until  # a date that was announced stays
        self.note("settle", "ok", step.version, evidence={"until": until} if until else {})

    def _retire(self, step: RotationStep) -> None:
        """Record that the version is deactivated, as the user says, or have targets confirm that they work without."""
        version, now = step.version, self.situation()
        if not now.retired_seq(version) or self.label_of(version) == "previous":
            reason = explain_no_retire(now, version)
            if reason:
                raise RotationError(reason)
            self.note("retire", "begun", version)
            if self.label_of(version) == "previous":
                self.store.update(lambda secret: versions.retire(secret, version))
            self.note("retire", "ok", version)
        for target in step.targets:
            self.confirm(target)

    def _abort(self, step: RotationStep) -> None:
        """Restore every target, then take the version out of use."""
        version = step.version
        label = self.label_of(version)
        if label == "current":
            self.store.update(lambda secret: versions.step_down(secret, version))
            return
        if not label and not self._forget(version):
            return
        if label:
            for target in self.situation().possible_holders(version):
                self.put_back(target, "abort", version)
            if self.situation().possible_holders(version):
                return
            if label == "pending":
                self.store.update(lambda secret: versions.abort(secret, version))
        self.note("abort", "ok", version)

    def _prove_dead(self, step: RotationStep) -> None:
        found = self._ask_services(step.version)
        if found.verdict != "invalid":
            self.note("prove_dead", "failed", step.version, found=found)
            return
        if self.label_of(step.version) == "retired":
            self.store.update(lambda secret: versions.mark_dead(secret, step.version))
        self.note("prove_dead", "ok", step.version, found=found)

    def _purge(self, step: RotationStep) -> None:
        self.note("purge", "begun", step.version)
        if not self._forget(step.version):
            return
        if self.label_of(step.version) == "dead":
            self.store.update(lambda secret: versions.purge(secret, step.version))
        self.note("purge", "ok", step.version)

    def _forget(self, version: str) -> bool:
        """Remove the value from the keyring; False if the keyring refused."""
        try:
            self.effects.forget(version)
        except (StepRefused, OutcomeUnknown):
            return False
        return True
