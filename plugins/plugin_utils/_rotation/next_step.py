# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide the next step of a rotation from the ledger, the labels and the inventory. Pure functions.

A rotation can stop anywhere, so resuming is not a case of its own: the records say how far it came, and next_step says
what follows. Events are ordered by the ledger; the clock decides only whether a grace is over.

    plan -> take -> prove -> canary -> spread -> settle -> grace -> retire -> prove_dead -> purge

A key that its successor revokes at once, and a compromised one, have neither canary nor grace. The former is taken when
all targets are ready; the latter is retired before the new one is taken.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from .._input import command_line
from .._secrets.versions import KeyVersion
from .situation import COMPROMISED, Situation

ENDED = ("retired", "dead", "purged")
TROUBLE = ("failed", "foreign", "rolled_back", "unreachable", "unknown")


class RotationError(Exception):
    """The step must not be taken now, or the records contradict each other."""


@dataclass(frozen=True)
class RotationStep:
    """The next step; without a name, nothing is left to do. obstacle: why it cannot be taken yet."""

    name: str = ""
    version: str = ""
    targets: tuple[str, ...] = ()
    is_manual: bool = False  # the user has to do something on the page where keys are made
    obstacle: str = ""


def next_step(situation: Situation) -> RotationStep:
    """Return the next step. Raises RotationError if the ledger and the labels contradict each other."""
    _check_labels(situation)
    return _opening_step(situation) or _closing_step(situation) or RotationStep()


def _check_labels(situation: Situation) -> None:
    """Raise RotationError if the ledger is ahead of the labels: then an older file of labels was put back."""
    labels = {one.id: one.label for one in situation.versions}
    behind = {
        "take": ("",),
        "settle": ("", "pending"),
        "prove_dead": ("", "pending", "current", "previous", "retired"),
        "purge": ("", "pending", "current", "previous", "retired", "dead"),
    }
    for one in situation.own_records:
        if one.result != "ok" or one.target or (one.step == "settle" and situation.is_given_up(one.version)):
            continue
        if labels.get(one.version, "") in behind.get(one.step, ()):
            raise RotationError(
                f"the ledger has a version of '{situation.name}' after the step {one.step}, but the file in secrets/ "
                f"does not: an older file was restored. Restore the newest file, then run again"
            )


def explain_no_begin(situation: Situation) -> str:
    """Return why no rotation may begin now; empty if one may."""
    step = next_step(situation)
    is_over = step.name in ("", "grace", "prove_dead", "purge") or (step.name == "retire" and step.is_manual)
    if (situation.secret and situation.secret.find_label("pending")) or not is_over:
        return f"a rotation of '{situation.name}' is open: {resume_command(situation.name)}"
    return ""


def _opening_step(now: Situation) -> RotationStep | None:
    """Return what follows for the version of the last rotation."""
    version, new = now.version, now.new_version
    if not version or (now.last_seq("abort", version, "ok") and (new is None or new.label in ENDED)):
        return None
    if now.is_given_up(version):  # a current one steps down first, so that its targets get the one before
        holders = now.possible_holders(version) if new is None or new.label == "pending" else ()
        return RotationStep("abort", version, holders)
    if new is None:
        return _step_before_prove(now)
    if new.label == "pending":
        return _step_before_settle(now)
    if new.label in ENDED:
        return None if now.last_seq("settle", version, "ok") else RotationStep("abort", version)
    unsettled = now.unsettled_targets(version)
    if unsettled:
        return RotationStep("spread", version, unsettled)
    if now.last_seq("settle", version, "ok") > now.last_seq("settle", version, "begun"):
        return None
    return RotationStep("settle", version, now.unread_targets(version))


def _step_before_prove(now: Situation) -> RotationStep:
    """Return the plan until it is complete, then the taking of the new key."""
    version, states = now.version, now.states(now.version)
    missing = tuple(target for target, state in states.items() if state not in ("staged", "excused", "absent"))
    absent = now.absent_targets(version)
    plan = RotationStep("plan", version, missing)
    if not now.last_seq("plan", version, "ok"):
        return plan
    if absent and not missing and "staged" not in states.values():
        reason = f"no account has the key '{now.name}', so there is nothing to replace: run {onboard_command()}"
        return replace(plan, targets=absent, obstacle=f"{reason}, then continue")
    behind = ", ".join(target for target, state in states.items() if state == "refused")
    is_taken = bool(now.last_seq("take", version))
    if behind and not is_taken:
        reason = f"another machine has rotated '{now.name}', but this machine does not have its records: {behind}"
        return replace(
            plan, obstacle=f"{reason}: import them (hpc-onboard state import FILE), or continue without these targets"
        )
    if now.replaces_at_once and missing and not is_taken:
        reason = f"the new key of '{now.name}' revokes the old one at once, but these targets are not ready for it"
        return replace(plan, obstacle=f"{reason}: {', '.join(missing)}: make them ready, or continue without them")
    if now.mode == COMPROMISED and now.secret and not now.retired_seq(now.secret.current.id):
        return RotationStep("retire", now.secret.current.id, is_manual=True)
    return RotationStep("take", version, is_manual=True)


def _step_before_settle(now: Situation) -> RotationStep:
    """Return what follows for a pending version: it goes to one target, then to the others, then settles."""
    version = now.version
    for name in ("take", "prove"):
        if not now.last_seq(name, version, "ok"):
            return RotationStep(name, version)
    states, unsettled = now.states(version), now.unsettled_targets(version)
    if not unsettled:
        return RotationStep("settle", version, now.unread_targets(version))
    if now.is_urgent or "verified" in states.values():
        return RotationStep("spread", version, unsettled)
    reachable = [target for target in unsettled if states[target] not in ("unreachable", "foreign")] or unsettled
    return RotationStep("canary", version, (now.canary if now.canary in unsettled else reachable[0],))


def _closing_step(now: Situation) -> RotationStep | None:
    """Return what follows for the old versions. A key that is slow to die holds up nothing else."""
    steps = [step for one in now.versions if (step := _step_of_old_version(now, one))]
    order = ("retire", "purge", "prove_dead", "grace")
    return min(steps, key=lambda step: (bool(step.obstacle), order.index(step.name)), default=None)


def _step_of_old_version(now: Situation, one: KeyVersion) -> RotationStep | None:
    is_gone = bool(now.retired_seq(one.id))
    if one.label == "previous" and not _is_grace_over(now, one.id):
        return RotationStep("grace", one.id)
    if one.label == "previous" or (one.label == "retired" and not is_gone):
        is_manual = not (is_gone or now.is_revoked(one.id))
        return RotationStep("retire", one.id, is_manual=is_manual, obstacle=explain_no_retire(now, one.id))
    if one.label == "retired":
        unconfirmed = _unconfirmed_targets(now, one.id)
        if unconfirmed:
            return RotationStep("retire", one.id, unconfirmed)
        return RotationStep("prove_dead", one.id, is_manual=bool(now.last_seq("prove_dead", one.id, "failed")))
    if one.label == "dead":
        return RotationStep("purge" if now.last_seq("prove_dead", one.id, "ok") else "prove_dead", one.id)
    if one.label == "purged" and not now.last_seq("purge", one.id, "ok"):
        return RotationStep("purge", one.id)
    return None


def _is_grace_over(now: Situation, previous: str) -> bool:
    if now.is_urgent or now.last_seq("grace", previous, "ok"):
        return True
    return not now.grace_end or bool(now.now and now.now >= now.grace_end)


def explain_no_retire(now: Situation, version: str) -> str:
    """Return why a version must not be deactivated yet, since a target may need it; empty if it may."""
    if now.secret is None:
        return "its versions are unknown: plan the rotation first"
    if now.is_given_up(version):
        holders = now.possible_holders(version)
    elif version == now.secret.current.id:
        return (
            ""
            if now.mode == COMPROMISED
            else "this is the current version; only a compromised key is retired before it is replaced"
        )
    else:
        holders = now.unsettled_targets(now.secret.current.id)
    return (
        f"not yet: {', '.join(holders)} may still need the key; verify these targets or continue without them first"
        if holders
        else ""
    )


def _unconfirmed_targets(now: Situation, version: str) -> tuple[str, ...]:
    """Return the targets that were not seen to work since the version was deactivated."""
    if now.secret is None or now.is_given_up(version) or version == now.secret.current.id:
        return ()
    since, current = now.retired_seq(version), now.secret.current.id
    confirmed = {
        one.target
        for one in now.own_records
        if one.seq > since and one.version == current and one.result in ("verified", "excused")
    }
    return tuple(t for t, state in now.states(current).items() if state != "excused" and t not in confirmed)


def describe_progress(situation: Situation) -> str:
    """Return how far the rotation is, in one word; "clean" only if the old key is dead and gone."""
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
    return "dead" if next_step(situation).name else "clean"


def _describe_opening(now: Situation) -> str:
    """Return the word before the labels change."""
    if now.new_version is None:
        if now.last_seq("abort", now.version, "ok"):
            return "aborted"
        return COMPROMISED if now.mode == COMPROMISED else "none"
    if not now.last_seq("prove", now.version, "ok"):
        return "pending"
    tried = {one.target for one in now.own_records if one.version == now.version and one.step in ("canary", "spread")}
    if not tried - {""}:
        return "proven"
    states = now.states(now.version)
    return "partial" if any(states[target] in TROUBLE for target in tried if target in states) else "spreading"


def onboard_command(account: str = "") -> str:
    """Return the command that creates the key on an account, or on all."""
    return shlex.join(command_line.command_for("onboard", ["-l", account] if account else []))


def rotate_command(name: str, *options: str) -> str:
    """Return the command that rotates that secret. options: of the subcommand rotate."""
    secret = [] if name == "ngc" else ["--secret", name]
    return shlex.join(command_line.command_for("rotate", [*secret, *options]))


def resume_command(name: str) -> str:
    """Return the command that continues the rotation."""
    return rotate_command(name, "--resume")


def retired_command(name: str, *options: str) -> str:
    """Return the command by which a user reports that the old key is deactivated."""
    return rotate_command(name, "--retired", *options)
