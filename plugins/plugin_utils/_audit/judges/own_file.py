# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a file of a person's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding_text import it, reason_of
from .common import Look, Wrong, in_the_way

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.outcome import ResourceOutcome


def judge(_entry: PlanEntry, outcome: ResourceOutcome, _look: Look) -> list[Wrong]:
    """The rules OWN-001 and OWN-002 (see rules.py)."""
    if not outcome["before"]:
        return [in_the_way("OWN-001", outcome) or Wrong("OWN-001", "missing", it("is not there."))]
    reason = reason_of(outcome)
    if reason:
        return [Wrong("OWN-002", "changed", reason)]
    return [Wrong("OWN-002", "changed", it(f"differs in {' and '.join(outcome['fields'])}."))]
