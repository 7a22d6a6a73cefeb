# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From outcomes to what Ansible shows: changed, failed, one sentence, and a diff that a person can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

WORDS = {  # for each status of an outcome (see module_utils/_core/resource.py)
    "in_place": "in place",
    "missing": "made",
    "different": "changed",
    "unwanted": "taken out",
    "blocked": "blocked",
    "failed": "failed",
    "not_measured": "not measured",
}
FORESEEN = {"missing": "to make", "different": "to change", "unwanted": "to take out"}
CHANGES = tuple(FORESEEN)
FAILURES = ("blocked", "failed", "not_measured")


def counted(outcomes: list[dict[str, Any]], check: bool) -> str:
    """How many of each, in words: '3 made, 12 in place'."""
    words = {**WORDS, **FORESEEN} if check else WORDS
    counts = Counter(outcome["status"] for outcome in outcomes)
    return ", ".join(f"{counts[status]} {words[status]}" for status in reversed(WORDS) if counts[status])


def result(outcomes: list[dict[str, Any]], notes: Sequence[Mapping[str, Any]], check: bool) -> dict[str, Any]:
    """The result of a converge task."""
    bad = [outcome for outcome in outcomes if outcome["status"] in FAILURES]
    summary = counted(outcomes, check) or "nothing to do"
    reasons = "".join(f"\n{outcome['identity']}: {outcome['reason']}" for outcome in bad)
    return {
        "changed": any(outcome["status"] in CHANGES for outcome in outcomes),
        "failed": bool(bad),
        "msg": summary + reasons,
        "outcomes": outcomes,
        "notes": [dict(note) for note in notes],
        "remarks": [
            {"capability": outcome["capability"], "text": remark}
            for outcome in outcomes
            for remark in outcome.get("remarks", [])
        ],
    }


def unnoted(problem: str) -> dict[str, Any]:
    """The outcome of a receipt that nothing can be noted in, whose reason is why nothing was made."""
    from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Outcome  # few lack their receipt
    from ansible_collections.hpc.onboard.plugins.module_utils._receipt.receipt import IDENTITY

    return {**Outcome.unmet(IDENTITY, "failed", problem).document(), "capability": "receipt"}


def diffs(outcomes: list[dict[str, Any]]) -> list[dict[str, str]]:
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
