# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....module_utils._core.resource import hash_fields, note_key
from ..finding_text import bare, it, reason_of
from .common import Look, Wrong, is_purged

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.finding import Cause
    from ..._documents.outcome import ResourceOutcome


def judge(entry: PlanEntry, outcome: ResourceOutcome, look: Look) -> list[Wrong]:
    """What is wrong with it."""
    before, after = outcome["before"], outcome["after"]
    if "is" in before:
        return [Wrong("LNK-004", "changed", reason_of(outcome) or it(f"is a {before['is']}."), ("is",))]
    if before.get("target", after.get("target")) != after.get("target"):
        return [_elsewhere(entry, outcome, look)]
    if before or outcome["reason"]:
        text = reason_of(outcome) or bare(f"What it leads to is a {before.get('leads to', 'thing')}.")
        cause: Cause = "time" if is_purged(entry, look) else "site"
        return [Wrong("LNK-003" if before else "LNK-001", "broken", text, cause=cause)]
    return [Wrong("LNK-001", "missing", it("is not there."))]


def _elsewhere(entry: PlanEntry, outcome: ResourceOutcome, look: Look) -> Wrong:
    """What is wrong with a link to another place: somebody has turned it, or its place has moved."""
    there, wanted = outcome["before"]["target"], outcome["after"].get("target")
    if not _is_moved(entry, outcome, look):
        return Wrong("LNK-002", "changed", it(f"leads to {there}."), ("target",))
    variable = str(entry["options"]["target"]).partition("/")[0]
    text = it(
        f"leads to {there}, and the site has moved {variable}: it is {wanted} now. Copy first what you still need."
    )
    return Wrong("LNK-002", "changed", text, ("target",), cause="site")


def _is_moved(entry: PlanEntry, outcome: ResourceOutcome, look: Look) -> bool:
    """Whether the link is as we noted it, by the same variable of the site, which has another value since."""
    target = entry["options"].get("target", "")
    note = look.notes.get(note_key(entry["kind"], outcome["identity"]))
    if note is None or not target.startswith("$") or note["options"].get("target") != target:
        return False
    return hash_fields({"target": outcome["before"]["target"]})["target"] == note["hashes"].get("target")
