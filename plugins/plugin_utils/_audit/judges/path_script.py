# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding_text import it, reason_of
from .common import Look, Wrong, in_the_way

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.outcome import ResourceOutcome


def judge(_entry: PlanEntry, outcome: ResourceOutcome, _look: Look) -> list[Wrong]:
    """What is wrong with it."""
    if not outcome["before"]:
        return [in_the_way("SCR-001", outcome) or Wrong("SCR-001", "missing", it("is not there."))]
    reason = reason_of(outcome)
    if reason:
        return [Wrong("SCR-002", "changed", reason)]
    return [Wrong("SCR-002", "changed", it(f"differs in {' and '.join(outcome['fields'])}."))]
