# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding_text import it, reason_of
from .common import Look, Wrong, is_purged

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.outcome import ResourceOutcome


def judge(entry: PlanEntry, outcome: ResourceOutcome, look: Look) -> list[Wrong]:
    """What is wrong with it."""
    reason = reason_of(outcome)
    if outcome["before"]:
        text = reason or it(f"is a {outcome['before'].get('is', 'thing')}, no folder.")
        return [Wrong("DIR-002", "changed", text)]
    if reason:
        return [Wrong("DIR-001", "broken", reason, cause="site")]
    return [Wrong("DIR-001", "missing", it("is not there."), cause="time" if is_purged(entry, look) else "")]
