# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings from outcomes: pure functions from data to data.

An outcome says that something differs. A finding adds the rule that this breaks, the class of the difference, its
severity, its cause and its fix.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from ...module_utils._core.resource import hash_fields
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
SITE_FILES = "/etc/"
BY_HAND = ("own_mode", "own_target")  # cases of rules whose cause is usually the site
MAY_BE_KEY = re.compile(r"(?:key|token|secret|passw|credential|auth)\w*[\"']?\s*[=:\s]\s*\S|://[^/\s]*:[^/\s]*@", re.I)
NOT_SHOWN = "(a line that may have a key)"


def resource_findings(
    entry: PlanEntry, key: str, outcome: ResourceOutcome, context: AccountContext
) -> list[FoundDifference]:
    """Return the findings of one declared resource. key: its key in a receipt."""
    obstacle = outcome["evidence"].get("obstacle")
    if outcome["status"] == "ok" and not obstacle:
        return []
    note = context.notes.get(key)
    rules = RULES_BY_TYPE[entry["kind"]]
    if obstacle:  # nothing differs yet, but the next run that has to change it would be blocked
        outcome = {**outcome, "status": "blocked", "reason": obstacle}
        cause: Cause = "hand" if note and note["state"] == DONE else "unknown"
        breaks = rules.find_breaks(entry, outcome, context)
        return [_finding(entry, outcome, found, found.cause or cause) for found in breaks]
    breaks = _unmeasured(outcome) or rules.find_breaks(entry, outcome, context)
    return [
        _finding(entry, outcome, found, found.cause or _find_cause(outcome, found, note, context)) for found in breaks
    ]


def check_findings(entry: PlanEntry, outcome: ResourceOutcome) -> list[FoundDifference]:
    """Return the findings of an audit check: each field of its state names a rule and a place."""
    found = [RuleBreak("RUN-001", "unknown", text, cause="unknown") for text in outcome["remarks"]]
    found += _unmeasured(outcome)
    for field, problem in outcome["before"].items():
        rule, _space, place = field.partition(" ")
        if rule not in RULES:
            text = "The account names an unknown rule."
            found.append(RuleBreak("RUN-001", "unknown", text, cause="unknown"))
            continue
        evidence, text = outcome["evidence"], end_sentence(problem[:1].upper() + problem[1:])
        severity = _worse(rule, evidence.get("severities", {}).get(field, ""))
        fix = offered_fixes.read_offer(evidence.get("fixes", {}).get(field))
        case = evidence.get("cases", {}).get(field, "")
        form = RULES[rule].found_class, text, (field,), severity, place, _cause_of_check(rule, place, case)
        found.append(RuleBreak(rule, *form, auto_fix=fix, case=case))
    return [_finding(entry, outcome, one, one.cause or "unknown") for one in found]


def _cause_of_check(rule: str, place: str, case: str) -> Cause:
    """Return who changed what a check reports: the case or the place says it better than the rule."""
    if place.startswith(SITE_FILES):
        return "site"
    return "hand" if case in BY_HAND else RULES[rule].found_cause


def _worse(rule: str, reported: Severity | Literal[""]) -> Severity:
    """Return the worse severity of a rule and an account's report; no account makes a finding milder."""
    usual = RULES[rule].severity
    return min(usual, reported, key=SEVERITIES.index) if reported in SEVERITIES else usual


def orphan_findings(entry: PlanEntry, outcome: ResourceOutcome) -> list[FoundDifference]:
    """Return the finding of a thing that was created here and is no longer declared; jobs were never to stay."""
    if not outcome["before"] or outcome["status"] == "ok" or entry["kind"] in ELSEWHERE:
        return []
    name = outcome["identity"]
    if outcome["evidence"].get("theirs"):  # the user has put a file of their own there, or the note is forged
        text = f"{name} is recorded as created by hpc-onboard, but it is yours and stays. You need not move it."
        return [_finding(entry, {**outcome, "reason": None}, RuleBreak("ORP-001", "orphan", text), "hand")]
    text = f"{name} was created by hpc-onboard, and the accounts file no longer declares it."
    return [_finding(entry, outcome, RuleBreak("ORP-001", "orphan", text), "spec")]


def skipped_findings(note: Note) -> list[FoundDifference]:
    """Return the finding of a role that is skipped because its key is missing and the user did not request it."""
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
            "text": end_sentence(note["text"][:1].upper() + note["text"][1:]),
            "desired": {},
            "actual": {},
            "blocked": True,
            "in_the_way": "",
        }
    ]


def _finding(entry: PlanEntry, outcome: ResourceOutcome, found: RuleBreak, cause: Cause) -> FoundDifference:
    fields = found.fields or tuple(outcome["fields"])
    reason = str(outcome["reason"] or "")
    text = found.text if reason in found.text else f"{found.text} {end_sentence(reason)}"
    finding: FoundDifference = {
        "rule": found.rule,
        "capability": outcome["capability"],
        "resource": found.about or outcome["identity"],
        "place": found.place,
        "class": found.found_class,
        "cause": cause,
        "severity": found.severity or RULES[found.rule].severity,
        "text": clean_line(text),
        "desired": _shorten(outcome["after"], fields, outcome["after"]),
        "actual": _shorten(outcome["before"], fields, outcome["after"]),
        "diff": diff_contents(outcome["after"], outcome["before"], fields),
        "blocked": outcome["status"] == "blocked",
        "in_the_way": str(entry["options"].get("path", "")) if outcome["evidence"].get("theirs") else "",
        "case": "unknown_key" if outcome["evidence"].get("unknown_key") else found.case,
    }
    return {**finding, "auto_fix": found.auto_fix} if found.auto_fix else finding


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
    """Return a finding without states, with the rule's class, cause and severity unless others are given."""
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
    """Return equal keys for findings that say the same: those of several entries of one file, for instance."""
    return tuple(finding[name] for name in ("rule", "capability", "resource", "place", "text"))


def _shorten(state: State, fields: Iterable[str], desired: State) -> State:
    """Return these fields; of content, which has several lines, the beginning and no key."""
    return {field: _shortened(state[field], desired.get(field, "")) for field in fields if field in state}


def _shortened(value: str, desired: str) -> str:
    text = "\n".join(_without_keys(value[:MOST_CONTENT], desired)) if "\n" in value else value
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def diff_contents(desired: State, actual: State, fields: Iterable[str]) -> list[str]:
    """Return a unified diff, without keys, of what has several lines and is different, but there, on both sides."""
    lines: list[str] = []
    for field in fields:
        old, new = desired.get(field, "")[:MOST_CONTENT], actual.get(field, "")[:MOST_CONTENT]
        if old and new and "\n" in old + new:
            pair = old.splitlines(), _without_keys(new, old)
            lines += [line[:DIFF_WIDTH] for line in difflib.unified_diff(*pair, "desired", "found", n=1, lineterm="")]
    if len(lines) <= DIFF_LINES:
        return lines
    return [*lines[: DIFF_LINES - 1], f" and {len(lines) - DIFF_LINES + 1} more lines"]


def _without_keys(text: str, desired: str) -> list[str]:
    """Return the lines of a text; a line that may have a key is replaced, unless it is one of the desired ones."""
    lines = text.splitlines()
    keyed = {key.line - 1 for key in find_keys("\n".join(lines), lambda _word: "")}
    keyed |= {number for number, line in enumerate(lines) if MAY_BE_KEY.search(line) or find_issued(line)}
    ours = set(desired.splitlines())
    return [NOT_SHOWN if number in keyed and line not in ours else line for number, line in enumerate(lines)]


def _unmeasured(outcome: ResourceOutcome) -> list[RuleBreak]:
    """Return RUN-001 for an outcome that was not measured, perhaps for want of a key."""
    is_blocked_unseen = outcome["status"] == "blocked" and not outcome["fields"]
    if outcome["status"] in ("failed", "unknown") or is_blocked_unseen:
        return [RuleBreak("RUN-001", "unknown", str(outcome["reason"]), cause="unknown")]
    return []


def _find_cause(outcome: ResourceOutcome, found: RuleBreak, note: ReceiptNote | None, context: AccountContext) -> Cause:
    """Return whether the account or the settings have changed since the note, field by field, by hashes."""
    if note is None:  # where other things are noted, it was declared since then
        return "spec" if context.notes and not outcome["before"] else "unknown"
    if note["state"] != DONE:
        return "unknown"
    noted = {**note["hashes"], **note["keyed"].get(context.fingerprints, {})}
    # Another machine's notes of a key cannot be compared here, and a note without keys says nothing about them.
    elsewhere = {field for hashed in note["keyed"].values() for field in hashed}
    keys = {field for side in (outcome["before"], outcome["after"]) for field in side if is_keyed(side[field])}
    unknown = {field for field in keys - noted.keys() if field in elsewhere or not elsewhere}
    fields = [field for field in found.fields or outcome["fields"] if field not in unknown]
    actual, desired = hash_fields(outcome["before"]), hash_fields(outcome["after"])
    if any(actual.get(field) != noted.get(field) for field in fields):
        return "hand"
    return "spec" if any(desired.get(field) != noted.get(field) for field in fields) else "unknown"
