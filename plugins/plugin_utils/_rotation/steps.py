# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the steps of a rotation. The intent is recorded first, then the step is taken, then its result is recorded.

A version is one value of a key, named by an id; its label is pending, current, previous, retired, dead or purged. A
target is one file with the key on one account. The steps are:

plan: check that the targets can be written. take, prove: store the new key, and test it. canary, spread: write the new
key to one target, then to the others. settle: read the targets again, and make the new key current. grace: wait for
jobs that use the old key. retire: the user deactivates the old key. prove_dead, purge: test that the services refuse
the old key, and remove it from the keyring. abort: cancel the rotation.

Each step can be taken again after a crash anywhere in it. Keys are named by their version; no value is used here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...module_utils._core.errors import AccountError
from .._secrets import versions
from .delivery import NOT_REJECTED, Delivery
from .next_step import RotationStep, explain_no_begin, explain_no_retire, rotate_command
from .ports import EffectReport, KeyNotHeld, OutcomeUnknown, RotatedElsewhere, StepRefused
from .situation import SCHEDULED

NEW_KEY_REFUSED = (
    "the services do not accept the new key, so no account was changed. If you deactivated the key by mistake, "
    "activate the key again. If another machine has rotated the key since, continue on that machine"
)
ALLOWED_LABELS = {  # step -> labels that its version may have ("": not created yet); no other version is changed
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
    """The rotation of one secret. grace_until: the end of the grace period if it begins in this run, or empty."""

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
        """Begin a rotation and return the id of its new version. Raise AccountError if a rotation is open.

        kind: of the new key. mode: scheduled or compromised. first_kind, fingerprint, sealed: kind, fingerprint and
        sealed mark of the key that existed before the first rotation. grace: the seconds for which the old key stays
        active after the rotation settles.
        """
        if reason := explain_no_begin(self.situation()):
            raise AccountError(reason)
        self.store.read_or_adopt(first_kind or kind, fingerprint, self.targets, sealed)
        version = versions.new_id()
        evidence: dict[str, str | int] = {"mode": mode, "kind": kind, **({"grace": grace} if grace else {})}
        self.note("plan", "begun", version, report=EffectReport(evidence=evidence))
        return version

    def take_step(self, step: RotationStep) -> None:
        """Take a step that next_step returned, and record its result. Raise StateError if no record can be written."""
        if step.name not in ALLOWED_LABELS:  # "grace": only time or the user can end it
            return
        label = self.label_of(step.version)
        if label not in ALLOWED_LABELS[step.name]:
            subject = f"a version that is {label}" if label else "a key version that does not exist yet"
            raise AccountError(
                f"the step {step.name} is not possible for {subject}. Continue the rotation with --resume"
            )
        if step.name in ("canary", "spread"):
            for target in step.targets:
                self.deliver(target, step)
            return
        methods = {
            "plan": self._plan,
            "take": self._take,
            "prove": self._prove,
            "settle": self._settle,
            "retire": self._retire,
            "prove_dead": self._prove_dead,
            "purge": self._purge,
            "abort": self._abort,
        }
        methods[step.name](step)

    def excuse(self, target: str) -> None:
        """Record that the rotation, or its cancellation, continues without this target."""
        situation = self.situation()
        self.note("excuse", "excused", situation.version, target)
        if situation.secret and situation.is_cancelled(situation.version):  # the target does not get the old key back
            self.note("excuse", "excused", situation.secret.current.id, target)

    def end_grace(self) -> None:
        """Record that the previous version may be retired before its grace period has passed."""
        for version in self.known_versions():
            if version.label == "previous":
                self.note("grace", "ok", version.id)

    def cancel(self) -> None:
        """Begin to cancel the rotation. Raise AccountError if no rotation is open, or the old key may not work."""
        situation = self.situation()
        if not situation.version or situation.secret is None or situation.last_seq("abort", situation.version, "ok"):
            raise AccountError(f"no rotation of '{self.name}' is open, so there is nothing to cancel")
        if situation.fallback_version is None:
            raise AccountError(
                f"the old key of '{self.name}' is no longer in use. "
                f"To replace the new key, run: {rotate_command(self.name)}"
            )
        if situation.may_be_dead(situation.fallback_version.id):
            raise AccountError(
                f"the old key of '{self.name}' may no longer work, so the new key is needed. "
                "Continue the rotation with --resume"
            )
        self.note("abort", "begun", situation.version)

    def block_if_refused(self, step: RotationStep) -> RotationStep:
        """Return the step; with an obstacle if its targets would confirm a current version that the services refuse.

        In that case, the user deactivated the current version instead of the old one, or another machine has replaced
        the current version. A target that cannot test its key would keep an invalid key.
        """
        if step.name != "retire" or not step.targets:
            return step
        is_refused = self._ask_services(self._current_version()).verdict in ("invalid", "not_entitled")
        return replace(step, obstacle=NEW_KEY_REFUSED) if is_refused else step

    def _current_version(self) -> str:
        """Return the id of the current version; after the first rotation began, one version always is current."""
        return next(version.id for version in self.known_versions() if version.label == "current")

    # Parts of a step for one target; any process may take them

    def check_target(self, target: str, step: RotationStep) -> None:
        """Record whether a target is ready for the new key."""
        try:
            self.note("plan", "staged", step.version, target, self.effects.probe(target))
        except StepRefused as error:
            self.note_refusal("plan", step.version, target, error)
        except OutcomeUnknown:
            self.note("plan", "unreachable", step.version, target)

    def read_target(self, target: str, step: RotationStep) -> None:
        """Read a target before the rotation settles, and record whether it has the version's key, not refused."""
        try:
            report = self.effects.read(target, step.version)
        except OutcomeUnknown:
            self.note("settle", "unreachable", step.version, target)
        except StepRefused as error:
            self.note_refusal("settle", step.version, target, error)
        else:
            result = "verified" if report.verdict in NOT_REJECTED else "failed"
            self.note("settle", result, step.version, target, report)

    def confirm_target(self, target: str) -> None:
        """Record whether the current version works on a target, after the old version was deactivated."""
        version = self._current_version()
        try:
            report = self.effects.verify(target, version)
        except (KeyNotHeld, RotatedElsewhere) as error:  # so the target does not have the version
            self.note_refusal("retire", version, target, error)
        except (StepRefused, OutcomeUnknown):
            return  # the target stays unconfirmed, so the next run asks again
        else:
            if report.verdict in (*NOT_REJECTED, "invalid"):  # after any other verdict, the next run asks again
                result = "failed" if report.verdict == "invalid" else "verified"
                self.note("retire", result, version, target, report)

    # Steps

    def _plan(self, step: RotationStep) -> None:
        """Record which targets are ready, and then that the plan is complete."""
        for target in step.targets:
            self.check_target(target, step)
        self.note("plan", "ok", step.version)

    def _take(self, step: RotationStep) -> None:
        """Store the new key in the keyring, and then record its version: a pending version always has a key."""
        version = step.version
        self.note("take", "begun", version)
        try:
            stored = self.effects.store_key(version)
        except (StepRefused, OutcomeUnknown):
            return  # without an "ok", the next run takes this step again
        if not self.label_of(version):  # not recorded yet
            pending = replace(stored, id=version, targets=self.targets)
            self.store.update(lambda secret: versions.add_pending(secret, pending))
        self.note("take", "ok", version)

    def _prove(self, step: RotationStep) -> None:
        """Record whether the services accept the new key, and its last day."""
        report = self._ask_services(step.version)
        day = self.effects.last_day(step.version)
        if day:
            self.store.update(lambda secret: versions.set_last_day(secret, step.version, day))
        self.note("prove", "ok" if report.verdict == "valid" else "failed", step.version, report=report)

    def _ask_services(self, version: str) -> EffectReport:
        """Return the verdict of the services on the version; "unreachable" if no service was asked."""
        try:
            return self.effects.test_key(version)
        except (StepRefused, OutcomeUnknown):
            return EffectReport("unreachable")

    def _settle(self, step: RotationStep) -> None:
        """Read the targets again and, if each has the new key, make the new version the current one."""
        if step.version != self.situation().version:
            raise AccountError(
                "only the new version of this rotation can become current. Continue the rotation with --resume"
            )
        for target in step.targets:
            self.read_target(target, step)
        situation = self.situation()
        if situation.unsettled_targets(step.version) or situation.unread_targets(step.version):
            return  # the next run continues with these targets
        if self.label_of(step.version) == "pending":
            targets = tuple(situation.states(step.version))
            self.store.update(lambda secret: versions.promote(secret, step.version, targets))
        until = situation.grace_end or self.grace_until  # an end that was announced does not change
        self.note("settle", "ok", step.version, report=EffectReport(evidence={"until": until} if until else {}))

    def _retire(self, step: RotationStep) -> None:
        """Record that the user has deactivated the version, and confirm that its targets work without it.

        The deactivation of a compromised key is recorded while the key is still current. When its label has become
        "previous", the step is taken again, to change the label to "retired".
        """
        version, situation = step.version, self.situation()
        is_recorded = situation.retired_seq(version) and self.label_of(version) != "previous"
        if not is_recorded:
            if reason := explain_no_retire(situation, version):
                raise AccountError(reason)
            self.note("retire", "begun", version)
            if self.label_of(version) == "previous":
                self.store.update(lambda secret: versions.retire(secret, version))
            self.note("retire", "ok", version)
        for target in step.targets:
            self.confirm_target(target)

    def _abort(self, step: RotationStep) -> None:
        """Restore every target, then retire the version. A current version only becomes pending again.

        A version without a label was never recorded, so no target has it: only its key is removed.
        """
        version = step.version
        label = self.label_of(version)
        if label == "current":
            self.store.update(lambda secret: versions.step_down(secret, version))
            return  # next_step returns "abort" again, now for a pending version
        if label:
            for target in self.situation().possible_holders(version):
                self.put_back(target, "abort", version)
            is_undone = not self.situation().possible_holders(version)
        else:
            is_undone = self._remove_key(version)
        if not is_undone:
            return  # the next run tries again
        if label == "pending":
            self.store.update(lambda secret: versions.abort(secret, version))
        self.note("abort", "ok", version)

    def _prove_dead(self, step: RotationStep) -> None:
        """Record whether the services refuse the deactivated version."""
        report = self._ask_services(step.version)
        if report.verdict != "invalid":
            self.note("prove_dead", "failed", step.version, report=report)
            return
        if self.label_of(step.version) == "retired":
            self.store.update(lambda secret: versions.mark_dead(secret, step.version))
        self.note("prove_dead", "ok", step.version, report=report)

    def _purge(self, step: RotationStep) -> None:
        """Remove the key of a dead version from the keyring."""
        self.note("purge", "begun", step.version)
        if not self._remove_key(step.version):
            return  # without an "ok", the next run takes this step again
        if self.label_of(step.version) == "dead":
            self.store.update(lambda secret: versions.purge(secret, step.version))
        self.note("purge", "ok", step.version)

    def _remove_key(self, version: str) -> bool:
        """Remove the key of the version from the keyring. Return False if the keyring refused."""
        try:
            self.effects.remove_key(version)
        except (StepRefused, OutcomeUnknown):
            return False
        return True
