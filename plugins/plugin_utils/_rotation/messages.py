# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of a rotation: the state of each target, the remaining work, and the next command. Pure functions.

A rotation replaces a key, the secret, on all accounts. A target is one file with the key on one account. A situation is
the state of the last rotation of one secret. The steps are:

plan: check that the targets can be written. take, prove: store the new key, and test it. canary, spread: write the new
key to one target, then to the others. settle: read the targets again, and make the new key current. grace: wait for
jobs that use the old key. retire: the user deactivates the old key. prove_dead, purge: test that the services refuse
the old key, and remove it from the keyring. abort: cancel the rotation.
"""

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
from .situation import SETTLED, Situation
from .targets import is_tested_on_account

if TYPE_CHECKING:
    from .._documents.result import CheckStatus, TargetCheck

STATE_TEXTS = {  # state of a target -> text for the user
    "unknown": "the content of the file is unknown",
    "staged": "the file has the old key and is ready for the new key",
    "installed": "the file has the new key, which has not been tested yet",
    "verified": "the file has the new key, which the registry accepts",
    "failed": "the key was not replaced, or the new key was refused on the account",
    "rolled_back": "the file still has the old key",
    "unreachable": "the account could not be reached",
    "excused": "skipped at your request",
    "absent": "the file contains no key",
    "foreign": "the file is unchanged, because it contains a key that hpc-onboard does not know",
    "refused": "the file is unchanged, because another machine has already rotated this key",
}
NOT_RESTORED = {  # state of a target whose old key a cancellation has not restored -> text for the user
    **dict.fromkeys(("unknown", "failed"), "the old key was not restored"),
    "refused": "the old key was not restored, because another machine has rotated this key since",
    "unreachable": "the account could not be reached to restore the old key",
}
REMAINING = {  # step that a run could not complete -> what is not done yet
    "plan": "hpc-onboard has not checked yet whether all accounts are ready",
    "take": "the keyring does not have the new key yet",
    "prove": "the new key has not been tested yet",
    **dict.fromkeys(("canary", "spread"), "not all accounts have the new key yet"),
    "settle": "not all accounts have confirmed that they have the new key",
    "retire": "not all accounts have confirmed that the new key works without the old one",
    "purge": "the keyring still has the old key",
}
NOT_INCLUDED = "this run did not include this file: the accounts file no longer requests it, or its account was omitted"
RECOVERED = (
    "the record of key versions contains this rotation, but the ledger does not, so hpc-onboard checks which key each "
    "account has"
)


class RemainingWork(NamedTuple):
    """The remaining work of a rotation: rows that describe it, and the command that continues the rotation, or none."""

    checks: list[TargetCheck]
    command: str = ""


def make_check(name: str, status: CheckStatus, text: str, is_target: bool = False) -> TargetCheck:
    """Return one row of the report. name: of its subject, such as a target. text: about the subject.

    is_target: the row is about one file; such rows are aligned as a table. The field "next" is empty because the report
    ends with one command for all rows.
    """
    return {"name": name, "status": status, "text": text, "next": "", "is_target": is_target}


def list_target_checks(situation: Situation, by_hand: Collection[str]) -> list[TargetCheck]:
    """Return a row for each target of the last rotation.

    by_hand: the accounts that no program may log in to; they are pending until the user imports a result.
    """
    last_records = {record.target: record for record in situation.records_of(situation.version)}
    is_cancelled = is_rotation_cancelled(situation)
    # after a cancellation, a target should have the old key
    good_states = ["verified", "excused", *(["staged", "rolled_back"] if is_cancelled else [])]
    unrestored = situation.possible_holders(situation.version) if is_cancelled else ()
    checks = []
    states = situation.states(situation.version) if situation.version else {}  # without a rotation: no targets
    for target, state in states.items():
        is_good = state in good_states
        if state not in SETTLED and target.partition(":")[0] in by_hand:
            text = describe_pending(target)
        elif is_cancelled and state in NOT_RESTORED and target not in unrestored:
            is_good, text = True, "the rotation has not changed the file"
        elif state in ("unknown", "unreachable") and target not in situation.targets:
            text = f"{NOT_INCLUDED}. {_advise_excuse(target)}"
        elif is_cancelled and state in NOT_RESTORED:
            text = f"{NOT_RESTORED[state]}; the file may still have the new key"
        else:
            text = _describe_target(situation.name, target, state, last_records.get(target), is_cancelled)
        checks.append(make_check(target, "ok" if is_good else "warning", text, is_target=True))
    return checks


def _advise_excuse(target: str) -> str:
    """Return the advice how to continue the rotation without a target, as one sentence."""
    excuse = command_line.describe_options("rotate", "--resume", "--excuse", target)
    return f"To continue without this file, add to the rotate command: {excuse}"


def describe_pending(target: str) -> str:
    """Return the text for a target on an account that no program may log in to."""
    export = shlex.join(command_line.command_for("export-script", ["-l", target.partition(":")[0]]))
    return (
        f"pending: programs may not log in to this account. Run {export}. Then run the script on the account, type the "
        "new key, and import the result"
    )


def _describe_target(name: str, target: str, state: str, last_record: Record | None, is_cancelled: bool) -> str:
    """Return the text for a target. name: of the secret. state: one of STATE_TEXTS. last_record: about the target.

    is_cancelled: the rotation is cancelled, so the target should have the old key.
    """
    step, verdict = (last_record.step, last_record.verdict) if last_record else ("", "")
    if state == "absent" or (last_record and last_record.evidence.get("found") == NO_KEY):
        command = onboard_command(target.partition(":")[0])
        return (
            f"the file is missing or does not contain the key '{name}', so nothing was replaced. "
            f"To add the key, run: {command}"
        )
    if state == "foreign":
        return f"{STATE_TEXTS['foreign']}. {_advise_excuse(target)}"
    if is_cancelled and state in ("staged", "rolled_back"):
        return "the file has the old key again" if state == "rolled_back" else "the file has the old key"
    if step == "plan" and state == "failed":
        return "the file has the old key, but hpc-onboard could not write a new key to this file"
    # "settle" reads the file again; without a verdict, the file does not have the new key
    if step == "settle" and state == "failed" and not verdict:
        return "the file was changed after the rotation, and contains a different key or no key"
    if step == "settle" and state == "unreachable":
        return "the file had the new key after the installation, but has not been read since then"
    if state == "verified" and verdict != "valid":  # no registry has confirmed the key
        if is_tested_on_account(target):
            return "the file has the new key, which was not tested from the account"
        return "the file has the new key"
    return STATE_TEXTS[state]


def is_rotation_cancelled(situation: Situation) -> bool:
    """Return True if the last rotation is cancelled, or being cancelled."""
    return bool(situation.version) and situation.is_cancelled(situation.version)


def list_exposure_checks(situation: Situation, holders: Iterable[str]) -> list[TargetCheck]:
    """Return a row that lists every target that may have had a compromised key, and a row for those not rotated.

    holders: the targets that had, or may have had, the key, as recorded on this machine.
    """
    old = situation.old_version
    if old is None:
        return []
    planned = {record.target for record in situation.records_of(situation.version) if record.step == "plan"}
    places = sorted({*holders, *old.targets, *planned} - {""})  # "": in a record about the whole step
    text = "no target is known to have had the key"
    if places:
        text = f"these targets had, or may have had, the key: {', '.join(places)}"
    checks = [make_check("the compromised key", "warning", text)]
    rotated = {target.partition(":")[0] for target in situation.states(situation.version)}
    others = sorted({place.partition(":")[0] for place in places} - rotated)
    if others:
        text = (
            f"this rotation does not include these accounts, which may still have the key: {', '.join(others)}. Make "
            f"sure that the accounts file contains them, then run: {onboard_command(','.join(others))}"
        )
        checks.append(make_check("the compromised key", "warning", text))
    return checks


def describe_remaining_work(
    situation: Situation, step: RotationStep, service: str, sentence: str, key_file: str
) -> RemainingWork:
    """Return the remaining work of a rotation. step: the next step, which this run could not complete.

    service: that the key is for. sentence: the last response of the services to the step's version, or why its key
    could not be read or stored; or empty.
    key_file: the path in the option --key-file of this run, or empty.
    """
    name = situation.name
    progress = "cancelled" if is_rotation_cancelled(situation) else describe_progress(situation)
    if not step.name:  # no step is left
        return _describe_end(situation, progress)
    if step.obstacle:
        return RemainingWork([make_check("rotation", "failed", step.obstacle)], resume_command(name))
    if step.name == "grace":
        end = f"{situation.grace_end[:10]} {situation.grace_end[11:16]} UTC"
        text = (
            f"{progress}; the old key stays active until {end} for jobs that use this key. "
            "If you deactivate the key earlier, report the deactivation"
        )
        return RemainingWork([make_check("rotation", "warning", text)], retired_command(name))
    if step.name == "retire" and step.is_manual:
        text = _describe_deactivation(situation, step, f"{TITLES[service]}'s page: {KEY_PAGES[service]}")
        # a compromised key is deactivated before the new key is read, so the next run needs the file again
        file_option = ["--key-file", key_file] if key_file and situation.new_version is None else []
        return RemainingWork([make_check("rotation", "warning", text)], retired_command(name, *file_option))
    text, command = _describe_unfinished(situation, step, progress)
    if sentence:
        text = f"{text}: {sentence}"
    return RemainingWork([make_check("rotation", "failed", text)], command)


def _describe_end(situation: Situation, progress: str) -> RemainingWork:
    """Return the row of a rotation without a next step: a warning if files of the user still contain the old key.

    progress: in one word, from describe_progress or "cancelled"; "none" without a rotation on this machine.
    """
    leftovers = count_leftovers(situation)
    if leftovers:
        counts = ", ".join(f"{account} ({count})" for account, count in sorted(leftovers.items()))
        text = (
            f"{progress}; the old key no longer works, but this rotation's search found copies of the key on these "
            f"accounts: {counts}. Remove the copies, then search again"
        )
        # the tag of the audit checks, which search accounts for keys
        command = shlex.join(command_line.command_for("audit", ["--tags", "watch"]))
        return RemainingWork([make_check("rotation", "warning", text)], command)
    text = f"{progress}; nothing is left to do"
    if progress == "none":
        text = (
            f"no rotation of '{situation.name}' is open on this machine. If you started the rotation on another "
            "machine, continue on that machine"
        )
    return RemainingWork([make_check("rotation", "ok", text)])


def _describe_deactivation(situation: Situation, step: RotationStep, page: str) -> str:
    """Return the request to deactivate the key of the step's version. page: text with the address of the page."""
    if situation.is_cancelled(step.version):
        return (
            "cancelled; the old key is the current key again. Deactivate the new key, then "
            f"report the deactivation. {page}"
        )
    if situation.secret and step.version == situation.secret.current.id:
        return (
            "compromised: deactivate the old key now, then report the deactivation. No account "
            f"is changed before that. {page}"
        )
    replaced_versions = situation.secret.with_labels("previous", "retired") if situation.secret else ()
    number = sum(not situation.retired_seq(version.id) for version in replaced_versions)
    keys, subject = (f"the {number} old keys", "all keys") if number > 1 else ("the old key", "both keys")
    return (
        f"{describe_progress(situation)}: deactivate {keys}, then report the deactivation; "
        f"{subject} work until then. {page}"
    )


def _describe_unfinished(situation: Situation, step: RotationStep, progress: str) -> tuple[str, str]:
    """Return a text about the step that the run could not complete, and the command to run next.

    progress: in one word, to begin the text with.
    """
    resume, verdict = resume_command(situation.name), situation.last_verdict(step.name, step.version)
    if step.name == "prove_dead":
        key = "new key of the cancelled rotation" if situation.is_cancelled(step.version) else "old key"
        is_alive = situation.last_seq("prove_dead", step.version, "failed") and verdict == "valid"
        return f"{progress}; the {key} {'still works' if is_alive else 'may still work'}", resume
    last_records = {record.target: record for record in situation.records_of(situation.version)}
    # read again at the end of the rotation, these targets no longer had the new key
    changed = [target for target, last in last_records.items() if (last.step, last.result) == ("settle", "failed")]
    if step.name == "spread" and changed:  # write the new key again
        names = ", ".join(sorted(changed))
        text = f"not finished; these targets have a different key: {names}. Continue the rotation to replace that key"
        return text, resume
    if step.name == "prove" and verdict in ("invalid", "not_entitled"):  # the test of the new key failed
        return f"{progress}; the new key is {verdict.replace('_', ' ')}", rotate_command(situation.name, "--give-up")
    if step.name == "abort":  # the run could not restore the old key everywhere
        if not step.targets:
            return "not cancelled yet", resume
        excuse = command_line.describe_options("rotate", "--resume", "--excuse", ",".join(step.targets))
        return (
            f"not cancelled yet; these targets may still have the new key: {', '.join(step.targets)}. To end the "
            f"cancellation without them, add to the rotate command: {excuse}"
        ), resume
    return f"not finished; {REMAINING[step.name]}", resume
