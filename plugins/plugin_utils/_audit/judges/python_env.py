# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a Python environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding_text import it, reason_of
from .common import Look, Wrong, in_the_way

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.outcome import ResourceOutcome

LINK = "leads to"


def judge(_entry: PlanEntry, outcome: ResourceOutcome, _look: Look) -> list[Wrong]:
    """The rules PKG-006 and PKG-007 (see rules.py)."""
    before = outcome["before"]
    if not before:
        return [in_the_way("PKG-006", outcome) or Wrong("PKG-006", "missing", it("is not there."))]
    if "is" in before or LINK in outcome["fields"]:
        text = reason_of(outcome) or it(f"leads to {before.get(LINK, 'another thing')}.")
        return [Wrong("PKG-006", "broken", text, ("is",) if "is" in before else (LINK,))]
    reason = reason_of(outcome)
    if reason:
        return [Wrong("PKG-007", "changed", reason)]
    fields = tuple(outcome["fields"])
    return [Wrong("PKG-007", "changed", it(f"was made from other things than declared ({', '.join(fields)})."), fields)]
