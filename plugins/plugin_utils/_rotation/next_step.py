# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes next in a rotation: decided from the ledger, the labels and the accounts alone, by pure functions.

A rotation can stop anywhere, so there is no difference between going on and resuming: what is written
says how far it came, and next_step says what follows. Order is the order of the ledger; the clock is asked
only whether a grace or an excuse is over.

    plan -> take -> prove -> canary -> spread -> settle -> grace -> retire -> prove_dead -> purge

A key that its successor revokes at once, and a compromised one, know neither canary nor grace. Before the
one is taken all targets must be ready; the other one is retired before the new one is taken.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from .._input import command_line
from .._secrets.versions import Version
from .standing import COMPROMISED, SETTLED, Situation

ENDED = ("retired", "dead", "purged")


class RotationError(Exception):
    """A step that must not be taken now, or records that contradict each other."""


@dataclass(frozen=True)
class Step:
    """What is to be done next; no name: nothing. An obstacle says why it cannot be done yet."""

    name: str = ""
    version: str = ""
    targets: tuple[str, ...] = ()
    person: bool = False  # somebody has to do something where keys are made
    again: bool = False  # it was begun before: what it was to do may be done
    obstacle: str = ""


@dataclass(frozen=True)
class Row:
    """One target in the table of a rotation."""

    target: str
    state: str
    settled: bool


def disagreement(situation: Situation) -> str:
    """What the ledger knows and the labels do not: then an older record of the labels was put back. Else nothing."""
    labels = {one.id: one.label for one in situation.secret.versions} if situation.secret else {}
    behind = {
        "take": ("",),
        "settle": ("", "pending"),
        "prove_dead": ("", "pending", "current", "previous", "retired"),
        "purge": ("", "pending", "current", "previous", "retired", "dead"),
    }
    for one in situation.mine:
        if one.result != "ok" or one.target or (one.step == "settle" and situation.given_up(one.version)):
            continue
        if labels.get(one.version, "") in behind.get(one.step, ()):
            return (
                f"the ledger says that a version of '{situation.name}' went through {one.step}, its labels do not know"
                " it: an older secrets/ file was put back; put the newest one in place, then run again"
            )
    return ""


def may_begin(situation: Situation) -> str:
    """Why no rotation may be begun now, or nothing."""
    step = next_step(situation)
    is_over = step.name in ("", "grace", "prove_dead", "purge") or (step.name == "retire" and step.person)
    if (situation.secret and situation.secret.one("pending")) or not is_over:
        return f"a rotation of '{situation.name}' is open: {command(situation)}"
    return ""


def next_step(situation: Situation) -> Step:
    """What follows. Raises RotationError where the ledger and the labels contradict each other."""
    why = disagreement(situation)
    if why:
        raise RotationError(why)
    step = _opening_step(situation) or _closing_step(situation) or Step()
    if step.name and step.version and situation.open_step(step.name, step.version):
        return Step(step.name, step.version, step.targets, step.person, True, step.obstacle)
    return step


def _opening_step(now: Situation) -> Step | None:
    """What follows for the version that is to be current."""
    version, made = now.version, now.made
    if not version or (now.last("abort", version, "ok") and (made is None or made.label in ENDED)):
        return None
    if now.given_up(version):  # a current one steps down first, so that its targets get the one before
        holders = now.possible_holders(version) if made is None or made.label == "pending" else ()
        return Step("abort", version, holders)
    if made is None or made.label == "pending":
        return _before_prove(now) if made is None else _before_settle(now)
    if made.label in ENDED:
        return Step("abort", version) if not now.last("settle", version, "ok") else None
    left = now.unsettled(version)
    if left:
        return Step("spread", version, left)
    is_open = not now.last("settle", version, "ok") or now.open_step("settle", version)
    return Step("settle", version, now.unread(version)) if is_open else None


def _before_prove(now: Situation) -> Step:
    """The plan must be whole; where the old key goes first, every target must be ready."""
    version, states = now.version, now.states(now.version)
    missing = tuple(target for target, state in states.items() if state not in ("staged", "excused", "absent"))
    absent = now.absent(version)
    if not now.last("plan", version, "ok"):
        return Step("plan", version, missing)
    if absent and not missing and "staged" not in states.values():
        why = f"no account holds the key '{now.name}', so nothing is replaced: run {onboard()}, then go on"
        return Step("plan", version, absent, obstacle=why)
    behind = tuple(target for target, state in states.items() if state == "refused")
    if behind and not now.last("take", version):
        why = f"another machine has rotated '{now.name}' since, and this one does not know of it: {', '.join(behind)}"
        return Step("plan", version, missing, obstacle=f"{why}: take over its records, or excuse them")
    if now.at_once and missing and not now.last("take", version):
        why = f"the new key of '{now.name}' revokes the old one at once, and not every target is ready for it"
        return Step("plan", version, missing, obstacle=f"{why}: {', '.join(missing)}: make them ready, or excuse them")
    if now.mode == COMPROMISED and now.secret and not now.gone(now.secret.current.id):
        return Step("retire", now.secret.current.id, person=True)
    return Step("take", version, person=True)


def _before_settle(now: Situation) -> Step:
    """The pending version goes to one target, then to the others, and settles when none is left."""
    version = now.version
    if not now.last("take", version, "ok"):
        return Step("take", version)
    if not now.last("prove", version, "ok"):
        return Step("prove", version)
    states, left = now.states(version), now.unsettled(version)
    if not left:
        return Step("settle", version, now.unread(version))
    if now.hasty or "verified" in states.values():
        return Step("spread", version, left)
    there = [target for target in left if states[target] not in ("unreachable", "foreign")] or left
    return Step("canary", version, (now.canary if now.canary in left else there[0],))


def _closing_step(now: Situation) -> Step | None:
    """What follows for the versions that go: what is slow to die holds up nothing else."""
    steps = [step for one in (now.secret.versions if now.secret else ()) if (step := _farewell(now, one))]
    order = ("retire", "purge", "prove_dead", "grace")
    return min(steps, key=lambda step: (bool(step.obstacle), order.index(step.name)), default=None)


def _farewell(now: Situation, one: Version) -> Step | None:
    """What follows for one version that goes."""
    if one.label == "previous" and not _grace_over(now, one.id):
        return Step("grace", one.id)
    if one.label == "previous" or (one.label == "retired" and not now.gone(one.id)):
        person = not (now.gone(one.id) or now.revoked(one.id))
        return Step("retire", one.id, person=person, obstacle=why_not_retire(now, one.id))
    if one.label == "retired":
        lives = bool(now.last("prove_dead", one.id, "failed"))
        left = unconfirmed(now, one.id)
        return Step("retire", one.id, left) if left else Step("prove_dead", one.id, person=lives)
    if one.label == "dead":
        return Step("purge" if now.last("prove_dead", one.id, "ok") else "prove_dead", one.id)
    if one.label == "purged" and not now.last("purge", one.id, "ok"):
        return Step("purge", one.id)
    return None


def _grace_over(now: Situation, previous: str) -> bool:
    if now.hasty or now.last("grace", previous, "ok"):
        return True
    return not now.until or bool(now.now and now.now >= now.until)


def why_not_retire(now: Situation, version: str) -> str:
    """Why a version must not be deactivated yet, or nothing: a target may still need it."""
    if now.secret is None:
        return "nothing is known of its versions: begin with a plan"
    if now.given_up(version):
        left = now.possible_holders(version)
    elif version == now.secret.current.id:
        return "" if now.mode == COMPROMISED else "it is the current one: only a compromised key is retired first"
    else:
        left = now.unsettled(now.secret.current.id)
    return f"not yet: {', '.join(left)} may still need it; verify or excuse them first" if left else ""


def unconfirmed(now: Situation, version: str) -> tuple[str, ...]:
    """The targets that were not seen to work since the version was deactivated."""
    if now.secret is None or now.given_up(version) or version == now.secret.current.id:
        return ()
    since, current = now.gone(version), now.secret.current.id
    seen = {
        one.target
        for one in now.mine
        if one.seq > since and one.version == current and one.result in ("verified", "excused")
    }
    return tuple(t for t, state in now.states(current).items() if state != "excused" and t not in seen)


def state(situation: Situation) -> str:
    """How far the secret is, in one word."""
    secret, made = situation.secret, situation.made
    if secret is None or not situation.version:
        return "none"
    if made is None or made.label == "pending":
        return _state_before(situation)
    if made.label in ENDED and not next_step(situation).name:
        return "aborted"
    if made.label == "current" and situation.unsettled(made.id):
        return "partial"
    for label, word in (("previous", "settled"), ("retired", "deactivated"), ("dead", "dead")):
        if secret.labelled(label):
            return word
    return "dead" if next_step(situation).name else "clean"


def _state_before(now: Situation) -> str:
    """The word before the labels move."""
    if now.made is None:
        if now.last("abort", now.version, "ok"):
            return "aborted"
        return COMPROMISED if now.mode == COMPROMISED else "none"
    if not now.last("prove", now.version, "ok"):
        return "pending"
    tried = {one.target for one in now.mine if one.version == now.version and one.step in ("canary", "spread")}
    if not tried - {""}:
        return "proven"
    states = now.states(now.version)
    trouble = ("failed", "foreign", "rolled_back", "unreachable", "unknown")
    return "partial" if any(states[t] in trouble for t in tried if t in states) else "spreading"


def done(situation: Situation) -> bool:
    """Whether a person may be told that the key is rotated: everywhere, and the old one is dead and gone."""
    return state(situation) == "clean"


def everywhere(situation: Situation) -> bool:
    """Whether the current version is on every target that is not excused, whatever becomes of the old one."""
    made = situation.made
    return made is not None and made.label == "current" and not situation.unsettled(made.id)


def onboard(account: str = "") -> str:
    """The command that creates the key on an account, or on all."""
    return shlex.join(command_line.command("onboard", ["-l", account] if account else []))


def playbook(name: str) -> str:
    """The beginning of every command that has to do with the rotation of that secret."""
    return shlex.join(command_line.command("rotate", [] if name == "ngc" else ["--secret", name]))


def resume(name: str) -> str:
    """The command that goes on."""
    return f"{playbook(name)} -e rotate_resume=true"


def said_dead(name: str) -> str:
    """The command by which a person says that the key which goes is deactivated."""
    return f"{playbook(name)} -e rotate_retired=true"


def table(situation: Situation) -> list[Row]:
    """Every target of the last rotation and its state."""
    states = situation.states(situation.version) if situation.version else {}
    return [Row(target, word, word in SETTLED) for target, word in states.items()]


def command(situation: Situation) -> str:
    """The one command that goes on with it; empty where nothing is open."""
    return resume(situation.name) if next_step(situation).name else ""
