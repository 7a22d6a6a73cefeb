# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide the next step of a rotation from its situation: the ledger, labels and inventory. Pure functions.

A rotation can stop anywhere, so resuming is not a special case: the records show which steps are done, and next_step
returns the one that follows.

    plan -> take -> prove -> canary -> spread -> settle -> grace -> retire -> prove_dead -> purge

plan: check that the targets can be written. take, prove: store the new key, and test it. canary, spread: write the new
key to one target, then to the others. settle: read the targets again, and make the new key current. grace: wait for
jobs that use the old key. retire: the user deactivates the old key. prove_dead, purge: test that the services refuse
the old key, and remove it from the keyring. abort: cancel the rotation.

A version is one value of the key; its label shows whether it is pending (not current yet), current, previous, retired,
dead or purged. A target is one file with the key on one account. Its state is staged (ready for the new key), verified
(has the new key), excused (the rotation continues without it), absent (has no key), foreign (has an unknown key), ...

Two kinds of old key have neither canary nor grace: a key that the new one revokes at once, so that the new key is taken
only when all targets are ready; and a compromised key, which is retired before the new key is taken.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from ...module_utils._core.errors import AccountError
from .._input import command_line
from .._secrets.versions import KeyVersion
from .situation import COMPROMISED, WRITING_STEPS, Situation

ENDED = ("retired", "dead", "purged")  # labels of a version that is out of use
TROUBLE = ("failed", "foreign", "rolled_back", "unreachable", "unknown")  # states of a target that needs attention


@dataclass(frozen=True)
class RotationStep:
    """The next step for a version, on targets; without a name, nothing is left to do.

    obstacle: why the step cannot be taken yet, or empty.
    """

    name: str = ""
    version: str = ""
    targets: tuple[str, ...] = ()
    is_manual: bool = False  # the user must first create or deactivate a key on the service's page
    obstacle: str = ""


def next_step(situation: Situation) -> RotationStep:
    """Return the next step. Raise AccountError if the ledger and the labels contradict each other."""
    _check_labels(situation)
    return _opening_step(situation) or _closing_step(situation) or RotationStep()


def _check_labels(situation: Situation) -> None:
    """Raise AccountError if the ledger is ahead of the labels: an older file of labels was restored."""
    labels = {version.id: version.label for version in situation.versions}
    outdated = {  # step -> labels that a version no longer has after this step ("": not recorded)
        "take": ("",),
        "settle": ("", "pending"),
        "prove_dead": ("", "pending", "current", "previous", "retired"),
        "purge": ("", "pending", "current", "previous", "retired", "dead"),
    }
    for record in situation.own_records:
        step, version = record.step, record.version
        is_done = record.result == "ok" and not record.target
        is_undone = step == "settle" and situation.is_cancelled(version)  # then the version is pending again
        if is_done and not is_undone and labels.get(version, "") in outdated.get(step, ()):
            raise AccountError(
                f"the ledger records the step {step} of a version of '{situation.name}', but "
                f"secrets/{situation.name}.json in the state folder does not, because an older file was restored. "
                "Restore the newest file, then try again"
            )


def explain_no_begin(situation: Situation) -> str:
    """Return why no rotation can begin, or ""."""
    step = next_step(situation)
    # an old key that still has to be deactivated, or removed, does not block a new rotation
    is_over = step.name in ("", "grace", "prove_dead", "purge") or (step.name == "retire" and step.is_manual)
    if (situation.secret and situation.secret.find_label("pending")) or not is_over:
        return f"a rotation of '{situation.name}' is already open. To continue, run: {resume_command(situation.name)}"
    return ""


def _opening_step(situation: Situation) -> RotationStep | None:
    """Return the next step for the version that the last rotation makes current; None if nothing is left to do."""
    version, new = situation.version, situation.new_version
    was_cancelled = situation.last_seq("abort", version, "ok") and (new is None or new.label in ENDED)
    if not version or was_cancelled:  # without a version, no rotation began yet
        return None
    if situation.is_cancelled(version):  # a current version becomes pending before its targets are restored
        holders = situation.possible_holders(version) if new is None or new.label == "pending" else ()
        return RotationStep("abort", version, holders)
    if new is None:  # the new key is not in the keyring yet
        return _step_before_prove(situation)
    if new.label == "pending":
        return _step_before_settle(situation)
    if new.label in ENDED:  # a cancelled version never settled; a crash came before its "abort" was recorded
        has_settled = situation.last_seq("settle", version, "ok")
        return None if has_settled else RotationStep("abort", version)
    unsettled = situation.unsettled_targets(version)
    if unsettled:  # a target was changed after the rotation settled, or is new in the inventory
        return RotationStep("spread", version, unsettled)
    if situation.last_seq("settle", version, "ok") > situation.last_seq("settle", version, "begun"):
        return None  # all targets were read since this run began to settle
    return RotationStep("settle", version, situation.unread_targets(version))


def _step_before_prove(situation: Situation) -> RotationStep:
    """Return the next step before the new key exists: plan, retire for a compromised key, or take."""
    version, states = situation.version, situation.states(situation.version)
    unready = tuple(target for target, state in states.items() if state not in ("staged", "excused", "absent"))
    absent = situation.absent_targets(version)
    plan = RotationStep("plan", version, unready)
    if not situation.last_seq("plan", version, "ok"):
        return plan
    if absent and not unready and "staged" not in states.values():  # all other targets are excused
        obstacle = (
            f"no account has the key '{situation.name}', so there is nothing to replace. Run {onboard_command()}, then "
            "continue the rotation with --resume"
        )
        return replace(plan, targets=absent, obstacle=obstacle)
    rotated_elsewhere = ", ".join(target for target, state in states.items() if state == "refused")
    is_taken = bool(situation.last_seq("take", version))  # the new key may already exist: do not wait any more
    if rotated_elsewhere and not is_taken:
        obstacle = (
            f"another machine has rotated '{situation.name}' on {rotated_elsewhere}, but this machine has no record of "
            "that. Run `hpc-onboard state export FILE` there, then `hpc-onboard state import FILE` here. If both "
            f"machines have rotated the key, run {rotate_command(situation.name, '--give-up')} here, then "
            f"{rotate_command(situation.name)}, and enter the key that the accounts have now. {_advise_excuse()}"
        )
        return replace(plan, obstacle=obstacle)
    if situation.replaces_at_once and unready and not is_taken:
        obstacle = (
            f"the new key of '{situation.name}' revokes the old key at once, but these targets are not ready: "
            f"{', '.join(unready)}. Make these targets ready. {_advise_excuse()}"
        )
        return replace(plan, obstacle=obstacle)
    # the plan is complete: the user deactivates a compromised key, and creates the new key
    if situation.mode == COMPROMISED and situation.secret and not situation.retired_seq(situation.secret.current.id):
        return RotationStep("retire", situation.secret.current.id, is_manual=True)
    return RotationStep("take", version, is_manual=True)


def _step_before_settle(situation: Situation) -> RotationStep:
    """Return the next step for a pending version: prove, canary (one target), spread (the others), or settle."""
    version = situation.version
    for name in ("take", "prove"):  # a crash may have come after the label, but before the record of "take"
        if not situation.last_seq(name, version, "ok"):
            return RotationStep(name, version)
    states, unsettled = situation.states(version), situation.unsettled_targets(version)
    if not unsettled:
        return RotationStep("settle", version, situation.unread_targets(version))
    if situation.is_urgent or "verified" in states.values():  # a verified target was the canary
        return RotationStep("spread", version, unsettled)
    writable = [target for target in unsettled if states[target] not in ("unreachable", "foreign")]
    canary = situation.canary if situation.canary in unsettled else (writable or unsettled)[0]
    return RotationStep("canary", version, (canary,))


def _closing_step(situation: Situation) -> RotationStep | None:
    """Return the next step for the versions that are out of use, or None."""
    steps = [step for old in situation.versions if (step := _step_of_old_version(situation, old))]
    order = ("retire", "purge", "prove_dead", "grace")  # steps that wait come last, so that they delay no other step
    return min(steps, key=lambda step: (bool(step.obstacle), order.index(step.name)), default=None)


def _step_of_old_version(situation: Situation, old: KeyVersion) -> RotationStep | None:
    """Return the next step for a version that is out of use; None if nothing is left to do."""
    is_deactivated = bool(situation.retired_seq(old.id))
    if old.label == "previous" and not _is_grace_over(situation, old.id):
        return RotationStep("grace", old.id)
    if old.label == "previous" or (old.label == "retired" and not is_deactivated):
        is_manual = not (is_deactivated or situation.is_revoked(old.id))
        return RotationStep("retire", old.id, is_manual=is_manual, obstacle=explain_no_retire(situation, old.id))
    if old.label == "retired":
        if unconfirmed := _unconfirmed_targets(situation, old.id):
            return RotationStep("retire", old.id, unconfirmed)
        has_failed = bool(situation.last_seq("prove_dead", old.id, "failed"))  # the key may still be active
        return RotationStep("prove_dead", old.id, is_manual=has_failed)
    # a run that was killed after it had set the label did not record the step: take the step again
    if old.label == "dead":
        return RotationStep("purge" if situation.last_seq("prove_dead", old.id, "ok") else "prove_dead", old.id)
    if old.label == "purged" and not situation.last_seq("purge", old.id, "ok"):
        return RotationStep("purge", old.id)
    return None  # pending and current versions, and the purged versions whose removal is recorded


def _is_grace_over(situation: Situation, previous: str) -> bool:
    """Return True if the old key may be retired: the rotation has no grace period, or the period is over.

    An urgent rotation does not wait, because targets have no valid key until they get the new one. previous: the id of
    the old version.
    """
    if situation.is_urgent or situation.last_seq("grace", previous, "ok"):  # the user has ended the period
        return True
    return not situation.grace_end or bool(situation.clock and situation.clock >= situation.grace_end)


def explain_no_retire(situation: Situation, version: str) -> str:
    """Return why the key of a version must not be deactivated yet, or "". Usually, a target may still need the key."""
    if situation.secret is None:
        return f"the versions of the key are unknown. To begin a rotation, run: {rotate_command(situation.name)}"
    if situation.is_cancelled(version):
        holders = situation.possible_holders(version)
    elif situation.is_cancelled(situation.version) and not situation.last_seq("abort", situation.version, "ok"):
        return f"the rotation is being cancelled. To continue, run: {resume_command(situation.name)}"
    elif version == situation.secret.current.id:
        is_allowed = situation.mode == COMPROMISED
        return "" if is_allowed else "only a compromised key can be retired while it is the current version"
    else:
        holders = situation.unsettled_targets(situation.secret.current.id)
    if not holders:
        return ""
    return f"{', '.join(holders)} may still need the key. First verify these targets. {_advise_excuse()}"


def _unconfirmed_targets(situation: Situation, version: str) -> tuple[str, ...]:
    """Return the targets that were not verified with the current version since this version was deactivated."""
    if situation.secret is None or situation.is_cancelled(version) or version == situation.secret.current.id:
        return ()  # no newer version has to be confirmed
    deactivation_seq, current = situation.retired_seq(version), situation.secret.current.id
    newer_records = [record for record in situation.records_of(current) if record.seq > deactivation_seq]
    confirmed = {record.target for record in newer_records if record.result in ("verified", "excused")}
    return tuple(
        target for target, state in situation.states(current).items() if state != "excused" and target not in confirmed
    )


def describe_progress(situation: Situation) -> str:
    """Return the progress of the last rotation in one word; "none" without a rotation.

    Before the new version is current: see _describe_opening. Then "partial" (a target lacks the new key) or "settled".
    Last, of the old key: "deactivated", "dead" or "clean" (dead and removed). A cancelled rotation is "aborted".
    """
    secret, new = situation.secret, situation.new_version
    if secret is None or not situation.version:
        return "none"
    if new is None or new.label == "pending":
        return _describe_opening(situation)
    if new.label in ENDED and not next_step(situation).name:
        return "aborted"
    if new.label == "current" and situation.unsettled_targets(new.id):
        return "partial"
    for label, word in (("previous", "settled"), ("retired", "deactivated"), ("dead", "dead")):
        if secret.with_labels(label):
            return word
    return "dead" if next_step(situation).name else "clean"  # "dead": the removal is not recorded yet


def _describe_opening(situation: Situation) -> str:
    """Return the progress, in one word, of a rotation whose new version is not current yet.

    Before the new key exists: "compromised", "none" or "aborted" (cancelled). Later: "pending" (not tested yet),
    "proven" (tested), "spreading" (written to targets) or "partial" (some of these targets have trouble).
    """
    if situation.new_version is None:
        if situation.last_seq("abort", situation.version, "ok"):
            return "aborted"
        return COMPROMISED if situation.mode == COMPROMISED else "none"
    if not situation.last_seq("prove", situation.version, "ok"):
        return "pending"
    records = situation.records_of(situation.version)
    written_targets = {record.target for record in records if record.step in WRITING_STEPS}
    if not written_targets:
        return "proven"
    states = situation.states(situation.version)
    has_trouble = any(states.get(target) in TROUBLE for target in written_targets)
    return "partial" if has_trouble else "spreading"


def _advise_excuse() -> str:
    """Return the advice how to continue a rotation without a target, as the last sentence of a message."""
    options = command_line.describe_options("rotate", "--resume", "--excuse", "TARGET")
    return f"To continue without a target, add to the rotate command: {options}"


def onboard_command(account: str = "") -> str:
    """Return the command that installs the declared keys on an account, or on all accounts."""
    return shlex.join(command_line.command_for("onboard", ["-l", account] if account else []))


def rotate_command(name: str, *options: str) -> str:
    """Return the command that rotates the key of this name. options: of the subcommand rotate."""
    secret = [] if name == "ngc" else ["--secret", name]  # ngc is the default
    return shlex.join(command_line.command_for("rotate", [*secret, *options]))


def resume_command(name: str) -> str:
    """Return the command that continues the rotation."""
    return rotate_command(name, "--resume")


def retired_command(name: str, *options: str) -> str:
    """Return the command that reports that the old key is deactivated."""
    return rotate_command(name, "--retired", *options)
