# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of a rotation: each target and what it holds, what is left, and the one next command. Pure functions."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...module_utils._formats.key_forms import TITLES
from .._input import command_line
from .._state.signed_record import Record
from .._validate.key_kinds import KEY_PAGES
from .ledger import NO_KEY
from .leftovers import count_leftovers
from .next_step import (
    RotationStep,
    describe_progress,
    onboard_command,
    resume_command,
    retired_command,
    rotate_command,
)
from .situation import COMPROMISED, SETTLED, Situation
from .targets import is_tried_on_account

if TYPE_CHECKING:
    from .._documents.result import CheckStatus, TargetCheck

WORDS = {
    "unknown": "unknown content",
    "staged": "old key, ready for the new key",
    "installed": "new key, not tested yet",
    "verified": "new key, accepted by the registry",
    "failed": "not replaced, or refused on the account",
    "rolled_back": "old key, as before",
    "unreachable": "unreachable",
    "excused": "excused",
    "absent": "holds no key",
    "foreign": "unchanged: it contains a key that hpc-onboard does not know",
    "refused": "unchanged: another machine has rotated this key in the meantime",
}
UNTRIED = "new key, not tested from the account"
TOKEN = "new key"
UNREADY = "old key, not ready for the new key"
CHANGED = "changed since the rotation: it contains a different key, or none"
UNREAD = "new key at installation, not read again since"
BACK = "old key, restored"
RECOVERED = (
    "the ledger has no record of this rotation, but the key versions have: hpc-onboard asks every account which key "
    "it has"
)


class RemainingWork(NamedTuple):
    """What is left of a rotation: checks for a table, and the one command that continues it, or none."""

    checks: list[TargetCheck]
    command: str = ""


def make_check(name: str, status: CheckStatus, text: str, is_target: bool = False) -> TargetCheck:
    """Return one line of the table. is_target: it is about one file, and goes into the column of those."""
    return {"name": name, "status": status, "text": text, "next": "", "is_target": is_target}


def check_targets(situation: Situation, by_hand: Collection[str] = ()) -> list[TargetCheck]:
    """Return a line for each target; one that was not tried there is never called verified.

    by_hand: the accounts that no program may enter: they are pending until the user brings a result back.
    """
    last = {one.target: one for one in situation.own_records if one.version == situation.version}
    is_given_up = is_rotation_given_up(situation)
    fine = [one for one in SETTLED if one != "absent"] + (["staged", "rolled_back"] if is_given_up else [])
    checks = []
    for target, state in (situation.states(situation.version) if situation.version else {}).items():
        if state not in SETTLED and target.partition(":")[0] in by_hand:
            text = describe_pending(target)
        else:
            text = _describe_target(situation.name, target, state, last.get(target), is_given_up)
        checks.append(make_check(target, "ok" if state in fine else "warning", text, True))
    return checks


def describe_pending(target: str) -> str:
    """Return what the user does about a target on an account that no program may enter."""
    export = shlex.join(command_line.command_for("export-script", ["-l", target.partition(":")[0]]))
    return f"pending: programs may not log in; {export}, run the script there with the new key, then import its result"


def _describe_target(name: str, target: str, state: str, last: Record | None, is_given_up: bool) -> str:
    if state == "absent" or (last and last.evidence.get("found") == NO_KEY):
        command = onboard_command(target.partition(":")[0])
        return f"does not contain the key '{name}', so nothing was replaced. To create it: {command}"
    if state == "foreign":
        excuse = command_line.describe_options("rotate", "--resume", "--excuse", target)
        return f"{WORDS['foreign']}; to continue without it: {excuse}"
    if is_given_up and state in ("staged", "rolled_back"):
        return BACK if state == "rolled_back" else "old key"
    if last and last.step == "plan" and state == "failed":
        return UNREADY
    if last and last.step == "settle" and state in ("failed", "unreachable") and not last.verdict:
        return CHANGED if state == "failed" else UNREAD
    if state == "verified" and last and last.verdict != "valid":
        return UNTRIED if is_tried_on_account(target) else TOKEN
    return WORDS[state]


def is_rotation_given_up(situation: Situation) -> bool:
    """Return True if the last rotation is being given up, or was."""
    return bool(situation.version) and situation.is_given_up(situation.version)


def check_exposure(situation: Situation, ever: Iterable[str]) -> list[TargetCheck]:
    """Return a line with every place that a compromised key ever went to. ever: those that the ledger knows."""
    old = situation.old_version
    if situation.mode != COMPROMISED or old is None:
        return []
    planned = {one.target for one in situation.own_records if (one.version, one.step) == (situation.version, "plan")}
    places = sorted({*ever, *old.targets, *planned} - {""})
    text = f"was, or may have been, at {', '.join(places)}" if places else "was at no known target"
    return [make_check("the compromised key", "warning", text)]


def describe_rest(
    situation: Situation, step: RotationStep, service: str, sentence: str, key_file: str
) -> RemainingWork:
    """Return what is left: nothing, an obstacle, or what the user does next.

    sentence: what the services last said about the version. key_file: where this run's new key was to come from.
    """
    name = situation.name
    progress = "given up" if is_rotation_given_up(situation) else describe_progress(situation)
    if not step.name:
        return _describe_end(situation, progress)
    if step.obstacle:
        return RemainingWork([make_check("rotation", "failed", step.obstacle)], resume_command(name))
    if step.name == "grace":
        end = f"{situation.grace_end[:10]} {situation.grace_end[11:16]} UTC"
        text = f"{progress}; the old key stays active until {end}, for jobs that use it"
        text = f"{text}. If you deactivate the key earlier, report that"
        return RemainingWork([make_check("rotation", "warning", text)], retired_command(name))
    if step.name == "retire" and step.is_manual:
        text = _describe_deactivation(situation, step, f"{TITLES[service]}'s page: {KEY_PAGES[service]}")
        more = ["--key-file", key_file] if key_file and situation.new_version is None else []
        return RemainingWork([make_check("rotation", "warning", text)], retired_command(name, *more))
    text, command = _describe_unfinished(situation, step, progress)
    return RemainingWork([make_check("rotation", "failed", text + (f": {sentence}" if sentence else ""))], command)


def _describe_end(situation: Situation, progress: str) -> RemainingWork:
    """Return the last line of a rotation; what only the user can remove from an account stays a reminder."""
    leftovers = count_leftovers(situation)
    if leftovers:
        where = ", ".join(f"{account} ({count})" for account, count in sorted(leftovers.items()))
        text = f"{progress}; the old key no longer works, but is still in files of {where}: remove it there"
        command = shlex.join(command_line.command_for("audit", ["--tags", "watch"]))
        return RemainingWork([make_check("rotation", "warning", text)], command)
    text = f"{progress}; nothing is left to do"
    if progress == "none":
        text = (
            f"no rotation of '{situation.name}' is open on this machine; if it was started on another machine, "
            f"continue it there"
        )
    return RemainingWork([make_check("rotation", "ok", text)])


def _describe_deactivation(situation: Situation, step: RotationStep, page: str) -> str:
    """Return which key the user is to deactivate, and where."""
    if situation.is_given_up(step.version):
        return f"given up; the old key is the current key again: deactivate the new key, then report that. {page}"
    if situation.secret and step.version == situation.secret.current.id:
        return f"compromised: deactivate the old key now, then report that; no account is changed before. {page}"
    old = situation.secret.with_labels("previous", "retired") if situation.secret else ()
    number = sum(not situation.retired_seq(one.id) for one in old)
    keys, work = (f"the {number} old keys", "all") if number > 1 else ("the old key", "both")
    return f"{describe_progress(situation)}: deactivate {keys}, then report that; {work} work until then. {page}"


def _describe_unfinished(situation: Situation, step: RotationStep, progress: str) -> tuple[str, str]:
    """Return what a run did not get done, and the command that continues."""
    resume, verdict = resume_command(situation.name), _last_verdict(situation, step)
    if step.name == "prove_dead":
        key = "new key of the cancelled rotation" if situation.is_given_up(step.version) else "old key"
        is_alive = situation.last_seq("prove_dead", step.version, "failed") and verdict == "valid"
        return f"{progress}; the {key} {'still works' if is_alive else 'may still work'}", resume
    last = {one.target: one for one in situation.own_records if one.version == situation.version and one.target}
    changed = sorted(target for target, one in last.items() if (one.step, one.result) == ("settle", "failed"))
    if step.name == "spread" and changed:
        text = f"not finished: these targets have a different key: {', '.join(changed)}; this installs the new key"
        return text, resume
    if step.name == "prove" and verdict in ("invalid", "not_entitled"):
        return f"{progress}; the new key is {verdict}", rotate_command(situation.name, "--give-up")
    if step.name == "abort":
        names = ", ".join(step.targets)
        text = f"not given up yet; these targets may still have the new key: {names}" if names else "not given up yet"
        return text, resume
    return f"{progress}; the next step is {step.name}", resume


def _last_verdict(situation: Situation, step: RotationStep) -> str:
    """Return what the services said about the version when they were last asked in this step."""
    verdicts = [one.verdict for one in situation.own_records if (one.step, one.version) == (step.name, step.version)]
    return next((one for one in reversed(verdicts) if one), "")
