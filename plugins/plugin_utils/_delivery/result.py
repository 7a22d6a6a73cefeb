# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From outcomes to what Ansible shows: changed, failed, one sentence, and a diff that a person can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.collect import Declared
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome, Status
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import AccountResult, Diff

WORDS: dict[Status, str] = {  # for each status of an outcome (see module_utils/_core/resource.py)
    "in_place": "in place",
    "missing": "made",
    "different": "changed",
    "unwanted": "taken out",
    "blocked": "blocked",
    "failed": "failed",
    "not_measured": "not measured",
}
FORESEEN: dict[Status, str] = {"missing": "to make", "different": "to change", "unwanted": "to take out"}
CHANGES = tuple(FORESEEN)
PRIVATE = {"mode": "0600", "folder mode": "0700"}  # of a file that holds a key, and of its folder
QUESTIONS = ("scheduler",)  # what is only asked for what is made from it
FAILURES: tuple[Status, ...] = ("blocked", "failed", "not_measured")


def counted(outcomes: Sequence[Outcome], check: bool) -> str:
    """How many of each, in words: '3 made, 12 in place'."""
    words = {**WORDS, **FORESEEN} if check else WORDS
    counts = Counter(outcome["status"] for outcome in outcomes)
    return ", ".join(f"{counts[status]} {words[status]}" for status in reversed(WORDS) if counts[status])


def result(outcomes: list[Outcome], declared: Declared, check: bool, empty: str = "nothing to do") -> AccountResult:
    """Return the result of a converge task. Of a role that refuses its settings there is an outcome, too.

    empty: its message if there are no outcomes.
    """
    outcomes = [*outcomes, *(unmet(f"role {name}", name, why) for name, why in declared.refused.items())]
    bad = [outcome for outcome in outcomes if outcome["status"] in FAILURES]
    summary = counted(outcomes, check) or empty
    reasons = "".join(f"\n{outcome['identity']}: {outcome['reason']}" for outcome in bad)
    return {
        "kind": "account",
        "changed": any(outcome["status"] in CHANGES for outcome in outcomes),
        "failed": bool(bad),
        "msg": summary + reasons,
        "outcomes": outcomes,
        "notes": list(declared.notes),
        "remarks": [
            {"capability": outcome["capability"], "text": remark}
            for outcome in outcomes
            for remark in (*outcome["remarks"], *(f"{one}; offboarding puts it back" for one in tightened(outcome)))
        ],
    }


def tightened(outcome: Outcome) -> list[str]:
    """Return a sentence for each mode that goes from the user's to that of a private file or folder."""
    if outcome["status"] not in CHANGES:
        return []
    return [
        f"{outcome['identity']}: the {field} {was} becomes {PRIVATE[field]}"
        for field, was in outcome["was"].items()
        if field in PRIVATE
    ]


def both(first: Sequence[Outcome], then: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes of two plans in a row: of a thing that both are about, that which changed it, else the later."""
    changed = {one["identity"] for one in first if one["status"] in CHANGES}
    later = {one["identity"]: one for one in then if one["identity"] not in changed}
    return [later.pop(one["identity"], one) for one in first] + list(later.values())


def spoken_of(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes of what was there, or is wanted, or must be told of: nothing is said of what was gone before."""
    return [
        one
        for one in outcomes
        if one["before"] or one["after"] or one["remarks"] or one["progress"] or one["status"] != "in_place"
    ]


def of_things(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes without those of questions that a capability had answered: these are about no thing there.

    What there is to say of an answer is said once, however many had the question.
    """
    asked = [one for one in outcomes if one["identity"] in QUESTIONS and one["capability"] != "resources"]
    telling = {(one["identity"], *one["remarks"]): one for one in reversed(asked) if one["remarks"]}
    return [one for one in outcomes if one not in asked or one in telling.values()]


def unmet(identity: str, capability: str, reason: str) -> Outcome:
    """The outcome of a thing that was not sent, and why."""
    return {
        "identity": identity,
        "capability": capability,
        "status": "failed",
        "fields": [],
        "before": {},
        "after": {},
        "reason": reason,
        "seconds": 0.0,
        "progress": None,
        "remarks": [],
        "evidence": {},
        "was": {},
    }


def unnoted(problem: str) -> Outcome:
    """The outcome of a receipt that nothing can be noted in, whose reason is why nothing was made."""
    from ansible_collections.hpc.onboard.plugins.module_utils._receipt.receipt import IDENTITY  # few lack theirs

    return unmet(IDENTITY, "receipt", problem)


def diffs(outcomes: Sequence[Outcome]) -> list[Diff]:
    """One diff for each resource that changes; a state is one 'field: value' a line."""
    return [
        {
            "before_header": outcome["identity"],
            "after_header": outcome["identity"],
            "before": "".join(f"{line}\n" for line in state_lines(outcome["before"])),
            "after": "".join(f"{line}\n" for line in state_lines(outcome["after"])),
        }
        for outcome in outcomes
        if outcome["status"] in CHANGES
    ]


def state_lines(state: Mapping[str, str]) -> list[str]:
    """A state as lines: 'field: value', and a value of several lines below its field."""
    lines = []
    for key, value in state.items():
        if "\n" in value:
            lines += [f"{key}:", *(f"  {line}" for line in value.splitlines())]
        else:
            lines.append(f"{key}: {value}")
    return lines
