# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a container image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding_text import it, reason_of
from .common import Look, Wrong, in_the_way

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.outcome import ResourceOutcome


def judge(_entry: PlanEntry, outcome: ResourceOutcome, _look: Look) -> list[Wrong]:
    """The rules IMG-001 and IMG-002 (see rules.py)."""
    before = outcome["before"]
    if not before:
        return [in_the_way("IMG-001", outcome) or Wrong("IMG-001", "missing", it("is not there."))]
    reason = reason_of(outcome)
    if "is" in before:
        return [Wrong("IMG-001", "broken", reason or it("is another thing."), ("is",))]
    if reason:
        return [Wrong("IMG-002", "changed", reason)]
    fields = tuple(outcome["fields"])
    return [Wrong("IMG-002", "changed", it("is not the one that its tag stands for by now, or has old ones."), fields)]
