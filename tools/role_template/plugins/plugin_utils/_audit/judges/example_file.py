# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a file of example_files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.finding_text import it, reason_of
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.judges.common import Look, Wrong, in_the_way

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import ResourceOutcome


def judge(_entry: PlanEntry, outcome: ResourceOutcome, _look: Look) -> list[Wrong]:
    """The rules EXA-001 and EXA-002 (see rules.py)."""
    if not outcome["before"]:
        return [in_the_way("EXA-001", outcome) or Wrong("EXA-001", "missing", it("is not there."))]
    reason = reason_of(outcome)
    if reason:
        return [Wrong("EXA-002", "changed", reason)]
    return [Wrong("EXA-002", "changed", it(f"differs in {' and '.join(outcome['fields'])}."))]
