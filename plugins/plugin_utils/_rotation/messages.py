# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a rotation: each target and what it holds, what is left, and the one next command. Pure functions."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ...module_utils._formats.key_forms import TITLES
from .._input import command_line
from .._state.signed_record import Record
from .ledger import NO_KEY
from .leftovers import left_on
from .next_step import Row, Step, onboard, playbook, resume, said_dead, state, table
from .standing import COMPROMISED, Situation
from .targets import is_asked_there

if TYPE_CHECKING:
    from .._documents.result import CheckStatus, TargetCheck

WORDS = {
    "unknown": "what it holds is not known",
    "staged": "old key, ready for the new one",
    "installed": "new key, not tried yet",
    "verified": "new key, taken by the registry",
    "failed": "not replaced, or refused there",
    "rolled_back": "old key, as it was before",
    "unreachable": "could not be reached",
    "excused": "excused",
    "absent": "holds no key",
    "foreign": "left alone: it holds a key that hpc-onboard does not know",
    "refused": "left alone: another machine has rotated this key since",
}
UNTRIED = "new key, not tried from there"
TOKEN = "new key"
UNREADY = "old key, not ready for the new one"
CHANGED = "another key than the new one, or none: changed since it was brought there"
UNREAD = "new key when it was brought there, not read again"
BACK = "old key, put back"
RECOVERED = "it does not know of this rotation, the labels of the key do: every account is asked what it holds"


class Told(NamedTuple):
    """How a rotation stands: checks for a table, and the one command that goes on with it (or none)."""

    checks: list[TargetCheck]
    command: str = ""


def day(moment: str) -> str:
    """A moment of the records for people, to the minute: 2026-11-28 18:00 UTC."""
    return f"{moment[:10]} {moment[11:16]} UTC"


def check(name: str, status: CheckStatus, text: str, is_target: bool = False) -> TargetCheck:
    """One line of the table. is_target: whether it is about one file, and stands in the column of those."""
    return {"name": name, "status": status, "text": text, "next": "", "is_target": is_target}


def targets(situation: Situation, by_hand: Collection[str] = ()) -> list[TargetCheck]:
    """Each target and what is known of it; what was not tried there is never called verified.

    by_hand: the accounts that no program enters, which are pending until a person has brought an answer back.
    """
    mine = [one for one in situation.mine if one.version == situation.version]
    last = {one.target: one for one in mine}
    back = is_given_up(situation)
    found = [
        (row, pending(row.target) if _waits(row, by_hand) else _holds(situation.name, row, last.get(row.target), back))
        for row in table(situation)
    ]
    fine = ("staged", "rolled_back")
    return [
        check(
            row.target,
            "ok" if (row.settled and row.state != "absent") or (back and row.state in fine) else "warning",
            text,
            True,
        )
        for row, text in found
    ]


def _waits(row: Row, by_hand: Collection[str]) -> bool:
    return not row.settled and row.target.partition(":")[0] in by_hand


def pending(target: str) -> str:
    """Return what a user does about a target on an account that no program may enter."""
    export = shlex.join(command_line.command("export-script", ["-l", target.partition(":")[0]]))
    return f"pending: no program may enter; {export}, run it there with the new key, bring its answer back"


def _holds(name: str, row: Row, last: Record | None, back: bool) -> str:
    if row.state == "absent" or (last and last.evidence.get("found") == NO_KEY):
        return f"holds no key '{name}', so none was replaced: {onboard(row.target.partition(':')[0])} creates it"
    if row.state == "foreign":
        return f"{WORDS['foreign']}; go on without it: -e rotate_resume=true -e rotate_excuse={row.target}"
    if back and row.state in ("staged", "rolled_back"):
        return BACK if row.state == "rolled_back" else "old key"
    if last and last.step == "plan" and row.state == "failed":
        return UNREADY
    if last and last.step == "settle" and row.state in ("failed", "unreachable") and not last.verdict:
        return CHANGED if row.state == "failed" else UNREAD
    if row.state == "verified" and last and last.verdict != "valid":
        return UNTRIED if is_asked_there(row.target) else TOKEN
    return WORDS[row.state]


def is_given_up(situation: Situation) -> bool:
    """Whether the last rotation is being given up, or was."""
    return bool(situation.version) and situation.given_up(situation.version)


def places(situation: Situation, ever: Iterable[str]) -> list[TargetCheck]:
    """Of a compromised key, every place that it ever went to; ever: those that the ledger knows."""
    old = situation.replaced
    if situation.mode != COMPROMISED or old is None:
        return []
    planned = {one.target for one in situation.mine if one.version == situation.version and one.step == "plan"}
    found = sorted({*ever, *old.targets, *planned} - {""})
    text = f"was, or may have been, at {', '.join(found)}" if found else "was at no place that is known"
    return [check("the compromised key", "warning", text)]


def left(situation: Situation, step: Step, service: str, pages: Mapping[str, str], sentence: str, key: str) -> Told:
    """What is left: nothing, an obstacle, or what a person does next.

    sentence: what the services last said of the version. key: where this run's new key was to come from.
    """
    name, again = situation.name, resume(situation.name)
    word = "given up" if is_given_up(situation) else state(situation)
    if not step.name:
        return _done(situation, word)
    if step.obstacle:
        return Told([check("rotation", "failed", step.obstacle)], again)
    if step.name == "grace":
        text = f"{word}; the old key stays alive until {day(situation.until)}, for the jobs that read it"
        return Told([check("rotation", "warning", f"{text}. Deactivated before that? Say so")], said_dead(name))
    if step.name == "retire" and step.person:
        text = _farewell(situation, step, f"{TITLES[service]}'s page: {pages[service]}")
        more = f" -e rotate_key_file={shlex.quote(key)}" if key and situation.made is None else ""
        return Told([check("rotation", "warning", text)], said_dead(name) + more)
    text, command = _unfinished(situation, step, word, again)
    return Told([check("rotation", "failed", text + (f": {sentence}" if sentence else ""))], command)


def _done(situation: Situation, word: str) -> Told:
    """All steps are taken. What only a person can take out of an account stays a reminder."""
    places = left_on(situation)
    if not places:
        text = f"{word}; nothing is left to do" if word != "none" else _none_here(situation.name)
        return Told([check("rotation", "ok", text)])
    where = ", ".join(f"{account} ({count})" for account, count in sorted(places.items()))
    text = f"{word}; the old key, dead now, still stood in files of {where}: take it out there"
    return Told([check("rotation", "warning", text)], shlex.join(command_line.command("audit", ["--tags", "watch"])))


def _none_here(name: str) -> str:
    """Of other machines, which may have begun one, this one knows nothing."""
    return f"no rotation of '{name}' is open on this machine; one that began on another machine is continued there"


def _farewell(situation: Situation, step: Step, page: str) -> str:
    """Which key a person is to deactivate, and where."""
    if situation.given_up(step.version):
        return f"given up, and the old key is the current one: deactivate the new one, then say so. {page}"
    if situation.secret and step.version == situation.secret.current.id:
        return f"compromised: deactivate the old key now, then say so: before that nothing is replaced. {page}"
    old = situation.secret.labelled("previous", "retired") if situation.secret else ()
    number = sum(not situation.gone(one.id) for one in old)
    keys, work = (f"the {number} old keys", "all") if number > 1 else ("the old key", "both")
    return f"{state(situation)}: deactivate {keys}, then say so; {work} work until then. {page}"


def _unfinished(situation: Situation, step: Step, word: str, again: str) -> tuple[str, str]:
    """What a run did not get done, and the command that goes on."""
    if step.name == "prove_dead":
        gone = "new key, which was given up," if situation.given_up(step.version) else "old key"
        alive = situation.last("prove_dead", step.version, "failed") and _says(situation, step) == "valid"
        return f"{word}; the {gone} {'still works' if alive else 'is not proven dead yet'}", again
    changed = _changed(situation)
    if step.name == "spread" and changed:
        return (
            f"not settled: another key than the new one is at {', '.join(changed)}; this gives them the new one",
            again,
        )
    if step.name == "prove" and _says(situation, step) in ("invalid", "not_entitled"):
        return f"{word}; the new key is not good", f"{playbook(situation.name)} -e rotate_give_up=true"
    if step.name == "abort":
        names = ", ".join(step.targets)
        return f"not given up yet; these may still hold the new key: {names}" if names else "not given up yet", again
    return f"{word}; what follows is {step.name}", again


def _changed(situation: Situation) -> list[str]:
    """The targets that were seen to hold another key than the new one when it was to settle."""
    last = {one.target: one for one in situation.mine if one.version == situation.version and one.target}
    return sorted(target for target, one in last.items() if (one.step, one.result) == ("settle", "failed"))


def _says(situation: Situation, step: Step) -> str:
    """What the services said of the version when they were last asked in this step."""
    verdicts = [one.verdict for one in situation.mine if (one.step, one.version) == (step.name, step.version)]
    return next((one for one in reversed(verdicts) if one), "")
