# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.finding_text import bare, it, reason_of
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.judges.common import Look, Wrong, is_purged

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.finding import Cause
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome


def judge(entry: PlanEntry, outcome: Outcome, look: Look) -> list[Wrong]:
    """What is wrong with it."""
    before, after = outcome["before"], outcome["after"]
    if "is" in before:
        return [Wrong("LNK-004", "changed", reason_of(outcome) or it(f"is a {before['is']}."), ("is",))]
    if before.get("target", after.get("target")) != after.get("target"):
        return [Wrong("LNK-002", "changed", it(f"leads to {before['target']}."), ("target",))]
    if before or outcome["reason"]:
        text = reason_of(outcome) or bare(f"What it leads to is a {before.get('leads to', 'thing')}.")
        cause: Cause = "time" if is_purged(entry, look) else "site"
        return [Wrong("LNK-003" if before else "LNK-001", "broken", text, cause=cause)]
    return [Wrong("LNK-001", "missing", it("is not there."))]
