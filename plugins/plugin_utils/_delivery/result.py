# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the result of a task from outcomes: changed, failed, a message, and a diff for users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...module_utils._core.values import FORMER

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome, Status
    from .._documents.result import AccountResult, AnsibleDiff
    from .._roles.collect import DeclaredResources

WORDS: dict[Status, str] = {  # for each status of an outcome (see module_utils/_core/resource.py)
    "ok": "unchanged",
    "missing": "created",
    "different": "changed",
    "extra": "removed",
    "blocked": "blocked",
    "failed": "failed",
    "unknown": "unknown",
}
FORESEEN: dict[Status, str] = {"missing": "to create", "different": "to change", "extra": "to remove"}
CHANGES = tuple(FORESEEN)
QUERIES = ("scheduler",)  # resource types that only ask the account something
PRIVATE = {"mode": "0600", "folder mode": "0700"}  # of a file with a key, and of its folder
FAILURES: tuple[Status, ...] = ("blocked", "failed", "unknown")


def count_statuses(outcomes: Sequence[ResourceOutcome], check: bool) -> str:
    """Return how many outcomes have each status: '3 created, 12 unchanged'. check: of a preview."""
    words = {**WORDS, **FORESEEN} if check else WORDS
    counts = Counter(outcome["status"] for outcome in outcomes)
    return ", ".join(f"{counts[status]} {words[status]}" for status in reversed(WORDS) if counts[status])


def result(
    outcomes: list[ResourceOutcome], declared: DeclaredResources, check: bool, empty: str = "nothing to do"
) -> AccountResult:
    """Return the result of a task for one account. A role whose settings are refused is a failed outcome.

    empty: the message if there are no outcomes.
    """
    outcomes = [*outcomes, *(failed_outcome(f"role {name}", name, why) for name, why in declared.refused.items())]
    failed = [outcome for outcome in outcomes if outcome["status"] in FAILURES]
    reasons = "".join(f"\n{outcome['identity']}: {outcome['reason']}" for outcome in failed)
    return {
        "kind": "account",
        "changed": any(outcome["status"] in CHANGES for outcome in outcomes),
        "failed": bool(failed),
        "msg": (count_statuses(outcomes, check) or empty) + reasons,
        "outcomes": outcomes,
        "notes": list(declared.notes),
        "remarks": [
            {"capability": outcome["capability"], "text": remark}
            for outcome in outcomes
            for remark in (
                *outcome["remarks"],
                *(f"{one}; offboarding restores it" for one in (*describe_modes(outcome), *describe_replaced(outcome))),
            )
        ],
    }


def describe_modes(outcome: ResourceOutcome) -> list[str]:
    """Return a note for each mode of the user's that a file with a key, or its folder, changes."""
    if outcome["status"] not in CHANGES:
        return []
    return [
        f"{outcome['identity']}: the {field} {was} becomes {PRIVATE[field]}"
        for field, was in outcome["was"].items()
        if field in PRIVATE
    ]


def describe_replaced(outcome: ResourceOutcome) -> list[str]:
    """Return a note for a thing of the user's that is replaced, with their agreement."""
    is_replaced = outcome["status"] in CHANGES and outcome["evidence"].get("replaces")
    return [f"{outcome['identity']}: your existing file is moved to ~/{FORMER}"] if is_replaced else []


def merge_outcomes(first: Sequence[ResourceOutcome], later: Sequence[ResourceOutcome]) -> list[ResourceOutcome]:
    """Return the outcomes of two plans in a row. Of a thing in both, the one that changed it counts, else the later."""
    changed = {outcome["identity"] for outcome in first if outcome["status"] in CHANGES}
    latest = {outcome["identity"]: outcome for outcome in later if outcome["identity"] not in changed}
    return [latest.pop(outcome["identity"], outcome) for outcome in first] + list(latest.values())


def drop_absent(outcomes: Sequence[ResourceOutcome]) -> list[ResourceOutcome]:
    """Return the outcomes of a removal without those of things that were absent before, unless they say more."""
    return [
        outcome
        for outcome in outcomes
        if any(outcome[name] for name in ("before", "after", "remarks", "progress")) or outcome["status"] != "ok"
    ]


def drop_queries(outcomes: Sequence[ResourceOutcome]) -> list[ResourceOutcome]:
    """Return the outcomes without queries, which are about no thing on the account, except a first one per remark."""
    queries = [one for one in outcomes if one["identity"] in QUERIES and one["capability"] != "resources"]
    remarkable = {(one["identity"], *one["remarks"]): one for one in reversed(queries) if one["remarks"]}
    return [one for one in outcomes if one not in queries or one in remarkable.values()]


def failed_outcome(identity: str, capability: str, reason: str) -> ResourceOutcome:
    """Return the outcome of a resource that was not sent, with the reason."""
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


def receipt_failure(problem: str) -> ResourceOutcome:
    """Return the outcome of a receipt that the account cannot write, so that it created nothing."""
    from ...module_utils._receipt.receipt import IDENTITY

    return failed_outcome(IDENTITY, "receipt", problem)


def name_keys(outcomes: Sequence[ResourceOutcome], keys: Mapping[str, str]) -> list[ResourceOutcome]:
    """Return the outcomes for people, with the names of keys in place of their fingerprints.

    keys: fingerprint as the account shows it -> name and age, see key_marks.describe_keys.
    """
    if not keys:
        return list(outcomes)

    def named(state: Mapping[str, str]) -> dict[str, str]:
        return {field: keys.get(value, value) for field, value in state.items()}

    return [{**one, "before": named(one["before"]), "after": named(one["after"])} for one in outcomes]


def diffs(outcomes: Sequence[ResourceOutcome]) -> list[AnsibleDiff]:
    """Return a diff for each resource that changes, with a line 'field: value' for each field of a state."""
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
    """Return a state as lines 'field: value', with a value of several lines below its field."""
    lines = []
    for key, value in state.items():
        if "\n" in value:
            lines += [f"{key}:", *(f"  {line}" for line in value.splitlines())]
        else:
            lines.append(f"{key}: {value}")
    return lines
