# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.finding_text import bare, it, reason_of
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.judges.common import Look, Outcome, Wrong, is_purged


def judge(entry: Mapping[str, Any], outcome: Outcome, look: Look) -> list[Wrong]:
    """What is wrong with it."""
    before, after = outcome["before"], outcome["after"]
    if "is" in before:
        return [Wrong("LNK-004", "changed", reason_of(outcome) or it(f"is a {before['is']}."), ("is",))]
    if before.get("target", after.get("target")) != after.get("target"):
        return [Wrong("LNK-002", "changed", it(f"leads to {before['target']}."), ("target",))]
    if before or outcome["reason"]:
        text = reason_of(outcome) or bare(f"What it leads to is a {before.get('leads to', 'thing')}.")
        cause = "time" if is_purged(entry, look) else "site"
        return [Wrong("LNK-003" if before else "LNK-001", "broken", text, cause=cause)]
    return [Wrong("LNK-001", "missing", it("is not there."))]
