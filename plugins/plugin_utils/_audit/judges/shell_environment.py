# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with what shells read at their start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding_text import it, reason_of
from .common import Look, Wrong

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.outcome import ResourceOutcome


def judge(_entry: PlanEntry, outcome: ResourceOutcome, _look: Look) -> list[Wrong]:
    """What is wrong with it."""
    reason = reason_of(outcome)
    if reason:
        return [Wrong("ENV-002", "changed", reason)]
    missing = tuple(field for field in outcome["fields"] if field not in outcome["before"])
    changed = tuple(field for field in outcome["fields"] if field in outcome["before"])
    wrongs = [Wrong("ENV-006", "missing", it(f"is missing in {', '.join(missing)}."), missing)] if missing else []
    return wrongs + ([Wrong("ENV-002", "changed", it(f"differs in {', '.join(changed)}."), changed)] if changed else [])
