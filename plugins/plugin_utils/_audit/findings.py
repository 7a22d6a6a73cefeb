# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was found on an account to findings: pure functions from data to data.

An outcome says that something differs. Here it is said which rule that breaks, what kind of difference it is, how
bad, who moved, and what fixes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from ...module_utils._core.resource import hash_fields
from ...module_utils._receipt.notes import DONE, is_keyed
from .._roles.table import ELSEWHERE, USUAL, options_of
from .._text.sanitise import flat
from . import offered_fixes
from .finding_text import Text, bare, ended, it
from .judges.common import Judge, Look, Wrong
from .rules import RULES, SEVERITIES, WATCHED

if TYPE_CHECKING:
    from .._documents.answer import ReceiptNote
    from .._documents.declaration import Note, PlanEntry
    from .._documents.finding import Cause, FoundDifference
    from .._documents.outcome import ResourceOutcome, Severity, State

JUDGES = f"{__name__.rpartition('.')[0]}.judges"


@lru_cache
def judge_of(kind: str) -> Judge:
    """What says of a kind what is wrong with it."""
    asked = options_of(kind)
    found: Judge = import_module(f"{JUDGES}.{'kept_key' if asked and 'password' in asked.OPTIONS else kind}").judge
    return found


for _usual in USUAL:
    judge_of(_usual)  # before the forks, one for each account


def of_resource(entry: PlanEntry, key: str, outcome: ResourceOutcome, look: Look) -> list[FoundDifference]:
    """The findings of one declared resource. key: what it is noted under in a receipt."""
    obstacle = outcome["evidence"].get("obstacle")
    if outcome["status"] == "ok" and not obstacle:
        return []
    note = look.notes.get(key)
    if obstacle:  # the next run that has to change it could not: a new key, say; when it was set up, one could
        outcome = {**outcome, "status": "blocked", "reason": obstacle}
        cause: Cause = "hand" if note and note["state"] == DONE else "unknown"
        wrongs = judge_of(entry["kind"])(entry, outcome, look)
        return [_finding(entry, outcome, wrong, wrong.cause or cause) for wrong in wrongs]
    wrongs = _unmeasured(outcome) or judge_of(entry["kind"])(entry, outcome, look)
    return [_finding(entry, outcome, wrong, wrong.cause or _cause(outcome, wrong, note, look)) for wrong in wrongs]


def of_check(entry: PlanEntry, outcome: ResourceOutcome) -> list[FoundDifference]:
    """Return the findings of an audit check: each field of its state names a rule and a place."""
    found = [Wrong("RUN-001", "unknown", bare(text), cause="unknown") for text in outcome["remarks"]]
    found += _unmeasured(outcome)
    for field, said in outcome["before"].items():
        text = ended(said[:1].upper() + said[1:])
        rule, _blank, place = field.partition(" ")
        what, cause = WATCHED.get(rule, ("unmanaged", "unknown"))
        if rule in RULES:
            severity = _worse(rule, outcome["evidence"].get("severities", {}).get(field, ""))
            fix = offered_fixes.checked(outcome["evidence"].get("fixes", {}).get(field))
            case = outcome["evidence"].get("cases", {}).get(field, "")
            found.append(Wrong(rule, what, bare(text), (field,), severity, place, cause, auto_fix=fix, case=case))
        else:
            found.append(
                Wrong("RUN-001", "unknown", bare("the account names a rule that there is not"), cause="unknown")
            )
    return [_finding(entry, outcome, wrong, wrong.cause or "unknown") for wrong in found]


def _worse(rule: str, seen: Severity | Literal[""]) -> Severity:
    """How bad a finding is that is worse on the account than its rule; no account makes one milder."""
    usual = RULES[rule].severity
    return min(usual, seen, key=SEVERITIES.index) if seen in SEVERITIES else usual


def of_orphan(entry: PlanEntry, outcome: ResourceOutcome) -> list[FoundDifference]:
    """The finding of a thing that was made here and is not declared any more; a job that waits was never to stay."""
    if not outcome["before"] or outcome["status"] == "ok" or entry["kind"] in ELSEWHERE:
        return []
    if outcome["evidence"].get("theirs"):  # a hand has put its own file there, or has forged the note: nothing is to go
        text = it("is noted as made here, but what is there is yours: it stays. Nothing has to be moved away.")
        return [_finding(entry, {**outcome, "reason": None}, Wrong("ORP-001", "orphan", text), "hand")]
    wrong = Wrong("ORP-001", "orphan", it("was made here, and the accounts file does not ask for it any more."))
    return [_finding(entry, outcome, wrong, "spec")]


def of_left_out(note: Note) -> list[FoundDifference]:
    """The finding of what is left out because its key is not in the keyring, and nobody has asked for it."""
    if note["code"] != "key_absent":
        return []
    return [
        {
            "rule": "KEY-001",
            "capability": note["capability"],
            "resource": f"key of {note['capability']}",
            "place": "",
            "class": "not_applicable",
            "cause": "spec",
            "severity": "info",
            "text": ended(note["text"][:1].upper() + note["text"][1:]),
            "desired": {},
            "actual": {},
            "blocked": True,
            "in_the_way": "",
        }
    ]


def _finding(entry: PlanEntry, outcome: ResourceOutcome, wrong: Wrong, cause: Cause) -> FoundDifference:
    fields = wrong.fields or tuple(outcome["fields"])
    found: FoundDifference = {
        "rule": wrong.rule,
        "capability": outcome["capability"],
        "resource": wrong.about or outcome["identity"],
        "place": wrong.place,
        "class": wrong.what,
        "cause": cause,
        "severity": wrong.severity or RULES[wrong.rule].severity,
        "text": flat(wrong.text.of(wrong.about or outcome["identity"], outcome["reason"])),
        "desired": _short(outcome["after"], fields),
        "actual": _short(outcome["before"], fields),
        "blocked": outcome["status"] == "blocked",
        "in_the_way": str(entry["options"].get("path", "")) if outcome["evidence"].get("theirs") else "",
        "case": "unknown_key" if outcome["evidence"].get("unknown_key") else wrong.case,
    }
    return {**found, "auto_fix": wrong.auto_fix} if wrong.auto_fix else found


def same(finding: FoundDifference) -> tuple[str, ...]:
    """Equal for findings that say the same of the same thing: several entries of one file, say."""
    return tuple(finding[name] for name in ("rule", "capability", "resource", "place", "text"))


def _short(state: State, fields: Iterable[str]) -> State:
    """The fields of a state, each cut to what a person reads."""
    return {
        field: state[field] if len(state[field]) <= 300 else state[field][:300] + "…"
        for field in fields
        if field in state
    }


def _unmeasured(outcome: ResourceOutcome) -> list[Wrong]:
    """What could not be looked at, or not for want of its key."""
    if outcome["status"] not in ("failed", "unknown") and not (
        outcome["status"] == "blocked" and not outcome["fields"]
    ):
        return []
    return [Wrong("RUN-001", "unknown", Text("", str(outcome["reason"]), True), cause="unknown")]


def _cause(outcome: ResourceOutcome, wrong: Wrong, note: ReceiptNote | None, look: Look) -> Cause:
    """Who moved since we wrote it: what is there, or what is wanted; by hashes, field by field."""
    if note is None:  # where others are noted, it was wished for since
        return "spec" if look.notes and not outcome["before"] else "unknown"
    if note["state"] != DONE:
        return "unknown"
    noted = {**note["hashes"], **note["keyed"].get(look.fingerprints, {})}  # of keys: what we noted ourselves
    # What another machine noted of a key says nothing here, nor does silence in a note that says nothing of keys.
    theirs = {field for hashed in note["keyed"].values() for field in hashed}
    keys = {field for side in (outcome["before"], outcome["after"]) for field in side if is_keyed(side[field])}
    untold = {field for field in keys - noted.keys() if field in theirs or not theirs}
    fields = [field for field in wrong.fields or outcome["fields"] if field not in untold]
    there, wanted = hash_fields(outcome["before"]), hash_fields(outcome["after"])
    if any(there.get(field) != noted.get(field) for field in fields):
        return "hand"
    return "spec" if any(wanted.get(field) != noted.get(field) for field in fields) else "unknown"
