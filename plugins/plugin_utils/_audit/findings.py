# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of an account, computed from the outcomes that it reports. Nothing is read or written.

An outcome has the state of one resource or audit check, before and after the run, and evidence: further observations. A
finding adds the broken rule, and the class, the severity, the cause and the fix of the difference. Its cause is "spec"
if the settings have changed, "hand" if the account was changed by hand, else "site", "time" or "unknown".

The receipt of an account has a note for each resource that hpc-onboard created or adopted: hashes of the state after
the last run and, by the id of the machine's secret key, fingerprints of keys ("keyed").
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from ...module_utils._core.resource import WAITS_FOR, hash_fields
from ...module_utils._key_search.issuers import find_issued
from ...module_utils._key_search.keys_in_texts import find_keys
from ...module_utils._receipt.notes import DONE, is_keyed
from .._roles.table import ELSEWHERE
from .._text.sanitise import clean_line
from . import offered_fixes
from .resource_rules import RULES_BY_TYPE, AccountContext, RuleBreak, end_sentence
from .rules.catalogue import RULES, SEVERITIES

if TYPE_CHECKING:
    from .._documents.answer import ReceiptNote
    from .._documents.declaration import Note, PlanEntry
    from .._documents.finding import Cause, Class, FoundDifference
    from .._documents.fix import Fix
    from .._documents.outcome import ResourceOutcome, Severity, State

LONGEST = 300  # characters of a field's value
MOST_CONTENT = 64 * 1024  # characters of content that are compared
DIFF_LINES, DIFF_WIDTH = 20, 160
SITE_FILES = "/etc/"  # only the site can change files below it
CAUSES: dict[str, Cause] = {"own_mode": "hand", "own_request": "hand", "own_target": "hand", "foreign_owner": "site"}
"""Case of a finding -> its cause, where it differs from the usual cause of the rule. Only the site changes owners.

A request in the user's own script is the user's to correct, even if the site once offered what it names.
"""
MAY_BE_KEY = re.compile(r"(?:key|token|secret|passw|credential|auth)\w*[\"']?\s*[=:\s]\s*\S|://[^/\s]*:[^/\s]*@", re.I)
NOT_SHOWN = "(not shown, because this line may contain a key)"


def resource_findings(
    entry: PlanEntry, key: str, outcome: ResourceOutcome, context: AccountContext
) -> list[FoundDifference]:
    """Return the findings of one declared resource.

    entry: of the plan. key: the key of the resource's note in the receipt. context: facts about the account.
    """
    obstacle = outcome["evidence"].get("obstacle")  # a sentence about what would block a later change
    if outcome["status"] == "ok" and not obstacle:
        return []
    note = context.notes.get(key)
    rules = RULES_BY_TYPE[entry["kind"]]
    if obstacle:  # nothing differs yet, but the next run that has to change the resource would be blocked
        outcome = {**outcome, "status": "blocked", "reason": obstacle}
        was_completed = note is not None and note["state"] == DONE  # so the obstacle is newer
        cause: Cause = "hand" if was_completed else "unknown"
        breaks = rules.find_breaks(entry, outcome, context)
        return [_build_finding(entry, outcome, broken, broken.cause or cause) for broken in breaks]
    breaks = _find_unmeasured(outcome) or rules.find_breaks(entry, outcome, context)
    return [
        _build_finding(entry, outcome, broken, broken.cause or _find_cause(outcome, broken, note, context))
        for broken in breaks
    ]


def check_findings(entry: PlanEntry, outcome: ResourceOutcome) -> list[FoundDifference]:
    """Return the findings of an audit check. Each field of its state is named by a rule and a place: "ENV-001 ~/.npm".

    The evidence has further facts about a field: its severity, the case of its advice, and the fix that is offered.
    """
    # a remark says what the check could not examine
    breaks = [RuleBreak("RUN-001", "unknown", text, cause="unknown") for text in outcome["remarks"]]
    breaks += _find_unmeasured(outcome)
    for field, problem in outcome["before"].items():
        rule, _space, place = field.partition(" ")
        if rule not in RULES:
            text = "The account reported a rule that does not exist in this version of hpc-onboard."
            breaks.append(RuleBreak("RUN-001", "unknown", text, cause="unknown"))
            continue
        evidence, text = outcome["evidence"], end_sentence(problem[:1].upper() + problem[1:])
        case = evidence.get("cases", {}).get(field, "")
        breaks.append(
            RuleBreak(
                rule,
                RULES[rule].found_class,
                text,
                fields=(field,),
                severity=_worse_severity(rule, evidence.get("severities", {}).get(field, "")),
                place=place,
                cause=_find_check_cause(rule, place, case),
                auto_fix=offered_fixes.read_offer(evidence.get("fixes", {}).get(field)),
                case=case,
            )
        )
    return [_build_finding(entry, outcome, broken, broken.cause or "unknown") for broken in breaks]


def _find_check_cause(rule: str, place: str, case: str) -> Cause:
    """Return the cause of a finding of an audit check. Place and case are more precise than the rule's usual cause."""
    if place.startswith(SITE_FILES):
        return "site"
    return CAUSES.get(case, RULES[rule].found_cause)


def _worse_severity(rule: str, reported: Severity | Literal[""]) -> Severity:
    """Return the rule's severity or the reported one, whichever is worse: no account can make a finding milder."""
    usual = RULES[rule].severity
    return min(usual, reported, key=SEVERITIES.index) if reported in SEVERITIES else usual


def orphan_findings(entry: PlanEntry, outcome: ResourceOutcome) -> list[FoundDifference]:
    """Return ORP-001 if a resource that hpc-onboard created is no longer declared, unless its type keeps nothing.

    entry: of the plan; it would remove the resource.
    """
    if not outcome["before"] or outcome["status"] == "ok" or entry["kind"] in ELSEWHERE:
        return []  # the resource is gone, or its type keeps nothing on the account
    name = outcome["identity"]
    if outcome["evidence"].get("theirs"):  # the user has replaced the resource with a file, or the note is forged
        text = f"The receipt lists {name} as created by hpc-onboard, but {name} belongs to you and will not be removed."
        without_reason: ResourceOutcome = {**outcome, "reason": None}  # the text already says why the path stays
        return [_build_finding(entry, without_reason, RuleBreak("ORP-001", "orphan", text), cause="hand")]
    text = f"hpc-onboard created {name}, but the accounts file no longer declares this resource."
    return [_build_finding(entry, outcome, RuleBreak("ORP-001", "orphan", text), cause="spec")]


def skipped_findings(note: Note) -> list[FoundDifference]:
    """Return the finding about a role that is skipped because its key is missing and the user did not request it.

    note: why a role was skipped. Other reasons have no finding.
    """
    if note["code"] != "key_absent":
        return []  # other notes are about choices of the user
    return [
        {
            "rule": "KEY-001",
            "capability": note["capability"],
            "resource": f"key of {note['capability']}",
            "place": "",
            "class": "not_applicable",
            "cause": "spec",
            "severity": "info",
            "text": end_sentence(note["text"][:1].upper() + note["text"][1:]),
            "desired": {},
            "actual": {},
            "blocked": True,  # onboarding cannot fix this
            "in_the_way": "",
        }
    ]


def _build_finding(entry: PlanEntry, outcome: ResourceOutcome, broken: RuleBreak, cause: Cause) -> FoundDifference:
    """Return the finding of a broken rule. entry: of the plan.

    The account's reason completes the text. The field "in_the_way" is the path of the resource if something of the
    user exists there (evidence "theirs"), else empty.
    """
    fields = broken.fields or tuple(outcome["fields"])
    reason = str(outcome["reason"] or "")
    is_complete = reason in broken.text or broken.rule == "RUN-001"  # the text of RUN-001 is made from the reason
    text = broken.text if is_complete else f"{broken.text} {end_sentence(reason)}"
    finding: FoundDifference = {
        "rule": broken.rule,
        "capability": outcome["capability"],
        "resource": broken.about or outcome["identity"],
        "place": broken.place,
        "class": broken.found_class,
        "cause": cause,
        "severity": broken.severity or RULES[broken.rule].severity,
        "text": clean_line(text),
        "desired": _shorten_fields(outcome["after"], fields, outcome["after"]),
        "actual": _shorten_fields(outcome["before"], fields, outcome["after"]),
        "diff": diff_contents(outcome["after"], outcome["before"], fields),
        "blocked": outcome["status"] == "blocked",
        "in_the_way": str(entry["options"].get("path", "")) if outcome["evidence"].get("theirs") else "",
        "case": "unknown_key" if outcome["evidence"].get("unknown_key") else broken.case,
    }
    return {**finding, "auto_fix": broken.auto_fix} if broken.auto_fix else finding


def simple_finding(
    rule: str,
    resource: str,
    text: str,
    *,
    place: str = "",
    found_class: Class | Literal[""] = "",
    cause: Cause | Literal[""] = "",
    severity: Severity | Literal[""] = "",
    fix: Fix | None = None,
) -> FoundDifference:
    """Return a finding without an outcome, for an audit check ("watch" is in place of a role).

    Class, cause and severity are the rule's, unless they are given. fix: steps, if no subcommand fixes the finding.
    """
    finding: FoundDifference = {
        "rule": rule,
        "capability": "watch",
        "resource": resource,
        "place": place,
        "class": found_class or RULES[rule].found_class,
        "cause": cause or RULES[rule].found_cause,
        "severity": severity or RULES[rule].severity,
        "text": text,
        "desired": {},
        "actual": {},
    }
    return {**finding, "fix": fix} if fix else finding


def finding_key(finding: FoundDifference) -> tuple[str, ...]:
    """Return a key that is equal for duplicates, such as the findings of two entries about the mode of one file."""
    return tuple(finding[name] for name in ("rule", "capability", "resource", "place", "text"))


def _shorten_fields(state: State, fields: Iterable[str], desired: State) -> State:
    """Return the beginning of each of these fields, without keys: a key in a field of one line is a fingerprint."""
    return {field: _shorten_value(state[field], desired.get(field, "")) for field in fields if field in state}


def _shorten_value(value: str, desired: str) -> str:
    """Return the beginning of a field's value, without lines that may contain a key, unless they are desired, too."""
    text = "\n".join(_hide_keys(value[:MOST_CONTENT], desired)) if "\n" in value else value
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def diff_contents(desired: State, actual: State, fields: Iterable[str]) -> list[str]:
    """Return a unified diff, without keys, of the fields that exist on both sides and have several lines."""
    lines: list[str] = []
    for field in fields:
        old, new = desired.get(field, "")[:MOST_CONTENT], actual.get(field, "")[:MOST_CONTENT]
        if old and new and "\n" in old + new:
            old_lines, new_lines = old.splitlines(), _hide_keys(new, old)
            diff = difflib.unified_diff(old_lines, new_lines, "desired", "found", n=1, lineterm="")
            lines += [line[:DIFF_WIDTH] for line in diff]
    if len(lines) <= DIFF_LINES:
        return lines
    return [*lines[: DIFF_LINES - 1], f" and {len(lines) - DIFF_LINES + 1} more lines"]


def _hide_keys(text: str, desired: str) -> list[str]:
    """Return the lines of a text. A line that may contain a key is replaced, unless the desired text has it, too."""
    lines = text.splitlines()
    # Here no key has to be named, so the function that describes known keys returns an empty text.
    hidden = {key.line - 1 for key in find_keys("\n".join(lines), lambda _word: "")}
    hidden |= {number for number, line in enumerate(lines) if MAY_BE_KEY.search(line) or find_issued(line)}
    desired_lines = set(desired.splitlines())
    return [NOT_SHOWN if number in hidden and line not in desired_lines else line for number, line in enumerate(lines)]


def _find_unmeasured(outcome: ResourceOutcome) -> list[RuleBreak]:
    """Return RUN-001 if the resource was not measured, for instance because its key is missing."""
    is_blocked_unmeasured = outcome["status"] == "blocked" and not outcome["fields"]
    if not (is_blocked_unmeasured or outcome["status"] in ("failed", "unknown")):
        return []
    text = str(outcome["reason"])
    if text.startswith(WAITS_FOR):
        needed = text.removeprefix(WAITS_FOR)
        text = f"{outcome['identity']} was not checked, because it needs {needed}, which has a problem."
    return [RuleBreak("RUN-001", "unknown", text, cause="unknown")]


def _find_cause(
    outcome: ResourceOutcome, broken: RuleBreak, note: ReceiptNote | None, context: AccountContext
) -> Cause:
    """Return the cause of a difference, from the hashes that the resource's note in the receipt contains.

    note: None if the receipt has none. The cause is "hand" if the account has changed since the note, "spec" if only
    the desired state has changed, and "unknown" if the note does not show a change.
    """
    if note is None:  # a missing resource without a note was probably declared after the last run
        return "spec" if context.notes and not outcome["before"] else "unknown"
    if note["state"] != DONE:
        return "unknown"  # the run that wrote the note was interrupted, so its hashes may not apply
    noted_hashes = {**note["hashes"], **note["keyed"].get(context.key_id, {})}
    incomparable = _list_fields_with_keys(outcome) - noted_hashes.keys()
    # Each machine makes fingerprints of keys with its own secret key: those of other machines cannot be compared.
    fields_of_machines = {field for fingerprints in note["keyed"].values() for field in fingerprints}
    if fields_of_machines:  # else the note shows nothing about any key
        incomparable &= fields_of_machines
    fields = [field for field in broken.fields or outcome["fields"] if field not in incomparable]
    actual, desired = hash_fields(outcome["before"]), hash_fields(outcome["after"])
    if any(actual.get(field) != noted_hashes.get(field) for field in fields):
        return "hand"
    return "spec" if any(desired.get(field) != noted_hashes.get(field) for field in fields) else "unknown"


def _list_fields_with_keys(outcome: ResourceOutcome) -> set[str]:
    """Return the fields of both states whose values are fingerprints of keys."""
    return {field for state in (outcome["before"], outcome["after"]) for field in state if is_keyed(state[field])}
