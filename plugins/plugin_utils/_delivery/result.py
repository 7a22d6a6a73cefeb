# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the result of a task from outcomes: changed, failed, a message, and a diff for users.

An outcome reports what happened to one resource. Its fields `before` and `after` are states of the resource, field ->
value, {} if it is absent; `was` has former values that offboarding restores, such as the mode of a file.
"""

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
PLANNED: dict[Status, str] = {"missing": "to create", "different": "to change", "extra": "to remove"}  # in a preview
CHANGES = tuple(PLANNED)
QUERIES = ("scheduler",)  # identities of the resources that query the account and change nothing
PRIVATE = {"mode": "0600", "folder mode": "0700"}  # of a file with a key, and of its folder
FAILURES: tuple[Status, ...] = ("blocked", "failed", "unknown")


def count_statuses(outcomes: Sequence[ResourceOutcome], is_preview: bool) -> str:
    """Return how many outcomes have each status, failures first: '3 created, 12 unchanged'.

    is_preview: nothing was changed, so the text is '3 to create, 12 unchanged'.
    """
    words = {**WORDS, **PLANNED} if is_preview else WORDS
    counts = Counter(outcome["status"] for outcome in outcomes)
    return ", ".join(f"{counts[status]} {words[status]}" for status in reversed(WORDS) if counts[status])


def build_result(
    outcomes: list[ResourceOutcome],
    declared: DeclaredResources,
    is_preview: bool,
    message_if_empty: str = "nothing to do",
) -> AccountResult:
    """Return the result of a task for one account. A role with invalid settings becomes a failed outcome.

    declared: what the roles declare, with notes for the user. message_if_empty: the message if no outcome exists.
    """
    refusals = [make_failed_outcome(f"role {name}", name, reason) for name, reason in declared.refused.items()]
    outcomes = [*outcomes, *refusals]
    failed = [outcome for outcome in outcomes if outcome["status"] in FAILURES]
    reasons = "".join(f"\n{outcome['identity']}: {outcome['reason']}" for outcome in failed)
    return {
        "kind": "account",
        "changed": any(outcome["status"] in CHANGES for outcome in outcomes),
        "failed": bool(failed),
        "msg": (count_statuses(outcomes, is_preview) or message_if_empty) + reasons,
        "outcomes": outcomes,
        "notes": list(declared.notes),
        "remarks": [
            {"capability": outcome["capability"], "text": remark}
            for outcome in outcomes
            for remark in (*outcome["remarks"], *_describe_restorable(outcome))
        ],
    }


def _describe_restorable(outcome: ResourceOutcome) -> list[str]:
    """Return a remark for each change that offboarding restores."""
    changes = [*describe_modes(outcome), *describe_replacement(outcome)]
    return [f"{change}; offboarding restores it" for change in changes]


def describe_modes(outcome: ResourceOutcome) -> list[str]:
    """Return a sentence for each mode that becomes private: of a file with a key, or of its folder."""
    if outcome["status"] not in CHANGES:
        return []
    return [
        f"{outcome['identity']}: the {field} changes from {former} to {PRIVATE[field]}"
        for field, former in outcome["was"].items()
        if field in PRIVATE
    ]


def describe_replacement(outcome: ResourceOutcome) -> list[str]:
    """Return a sentence if the user has agreed to replace an existing file, and it is replaced; else []."""
    is_replaced = outcome["status"] in CHANGES and outcome["evidence"].get("replaces")
    return [f"{outcome['identity']}: hpc-onboard keeps your existing file in ~/{FORMER}"] if is_replaced else []


def merge_outcomes(first: Sequence[ResourceOutcome], later: Sequence[ResourceOutcome]) -> list[ResourceOutcome]:
    """Return the outcomes of two plans, of which the second was sent after the first.

    If both plans have an outcome for a resource, the first outcome is kept if it is a change, otherwise the later one.
    """
    changed = {outcome["identity"] for outcome in first if outcome["status"] in CHANGES}
    latest = {outcome["identity"]: outcome for outcome in later if outcome["identity"] not in changed}
    return [latest.pop(outcome["identity"], outcome) for outcome in first] + list(latest.values())


def drop_absent(outcomes: Sequence[ResourceOutcome]) -> list[ResourceOutcome]:
    """Return the outcomes of a removal, except those of resources that were absent before with nothing to report."""
    return [
        outcome
        for outcome in outcomes
        if any(outcome[name] for name in ("before", "after", "remarks", "progress")) or outcome["status"] != "ok"
    ]


def drop_queries(outcomes: Sequence[ResourceOutcome]) -> list[ResourceOutcome]:
    """Return the outcomes without the queries that have no remarks or repeat the remarks of an earlier query.

    A query that the user declares in the setting "resources" is kept.
    """
    queries = [
        outcome for outcome in outcomes if outcome["identity"] in QUERIES and outcome["capability"] != "resources"
    ]
    # reversed, so that the first query with these remarks is the one that remains in the mapping
    with_remarks = {(query["identity"], *query["remarks"]): query for query in reversed(queries) if query["remarks"]}
    return [outcome for outcome in outcomes if outcome not in queries or outcome in with_remarks.values()]


def make_failed_outcome(identity: str, capability: str, reason: str) -> ResourceOutcome:
    """Return the outcome, failed for this reason, of a resource about which the account reported nothing.

    capability: the role of the resource.
    """
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


def make_receipt_failure(problem: str) -> ResourceOutcome:
    """Return the failed outcome of a receipt that the account could not write. The account then creates nothing."""
    from ...module_utils._receipt.receipt import IDENTITY

    return make_failed_outcome(IDENTITY, "receipt", problem)


def name_keys(outcomes: Sequence[ResourceOutcome], keys: Mapping[str, str]) -> list[ResourceOutcome]:
    """Return the outcomes with the names of keys in place of their fingerprints, as users read them.

    keys: name and age of a key, by its fingerprint as the account shows it (see key_marks.describe_keys).
    """
    if not keys:
        return list(outcomes)

    def name_values(state: Mapping[str, str]) -> dict[str, str]:
        return {field: keys.get(value, value) for field, value in state.items()}

    return [
        {**outcome, "before": name_values(outcome["before"]), "after": name_values(outcome["after"])}
        for outcome in outcomes
    ]


def render_diffs(outcomes: Sequence[ResourceOutcome]) -> list[AnsibleDiff]:
    """Return a diff for each resource that changes, with a line 'field: value' for each field of a state."""
    return [
        {
            "before_header": outcome["identity"],
            "after_header": outcome["identity"],
            "before": "".join(f"{line}\n" for line in render_state(outcome["before"])),
            "after": "".join(f"{line}\n" for line in render_state(outcome["after"])),
        }
        for outcome in outcomes
        if outcome["status"] in CHANGES
    ]


def render_state(state: Mapping[str, str]) -> list[str]:
    """Return a state as lines 'field: value'. A value of several lines is indented below its field."""
    lines = []
    for field, value in state.items():
        if "\n" in value:
            lines += [f"{field}:", *(f"  {line}" for line in value.splitlines())]
        else:
            lines.append(f"{field}: {value}")
    return lines
