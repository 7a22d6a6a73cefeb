# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a key in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding_text import bare, it, its, reason_of
from .common import Look, Wrong, in_the_way

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry, ResourceEntry
    from ..._documents.outcome import ResourceOutcome

SEVERAL = ("lines", "entries", "keys")  # of which a file should have one for each machine


def judge(entry: PlanEntry, outcome: ResourceOutcome, look: Look) -> list[Wrong]:
    """A key in a file."""
    before, opened = outcome["before"], outcome["evidence"].get("open_folder")
    reason = reason_of(outcome)
    if opened and reason and not outcome["fields"]:
        fix: ResourceEntry = {"kind": "access_fix", "options": {"path": opened, "way": "folder"}}
        return [Wrong("SEC-002", "changed", reason, cause="hand", about=f"folder {opened}", place=opened, auto_fix=fix)]
    if not before:
        return [
            in_the_way("KEY-004", outcome)
            or Wrong("KEY-001", "missing", it("is not in the file that its reader reads."))
        ]
    if "is" in before:
        return [Wrong("KEY-004", "broken", reason_of(outcome) or bare(f"There is a {before['is']}."), ("is",))]
    file = str(entry["options"].get("path") or outcome["identity"])
    wrongs = [_key_field(field, before.get(field, ""), file, look) for field in outcome["fields"]]
    return wrongs or [one for one in [in_the_way("KEY-004", outcome)] if one]


def _key_field(field: str, found: str, file: str, look: Look) -> Wrong:
    if field == "password":
        if found in look.old:
            return Wrong("KEY-002", "stale", it(f"has the key of '{look.old[found]}' that was replaced."), (field,))
        return Wrong("KEY-002", "changed", it("has another key than the current one."), (field,))
    if field == "mode" and "access list" in found:
        text = bare("An access list lets others at the file.")
        return Wrong("SEC-003", "changed", text, (field,), about=f"file {file}")
    if field == "mode":
        return _mode("SEC-001", field, found, f"file {file}")
    if field == "folder mode" and not found.isdigit():
        return Wrong("KEY-004", "broken", its("folder", f"has no mode ({found})."), (field,))
    if field == "folder mode":
        return _mode("SEC-002", field, found, f"folder {file.rpartition('/')[0]}")
    if field in SEVERAL:
        return Wrong("KEY-003", "changed", it(f"has {found} {field}; one of them counts."), (field,))
    if field.endswith(".BAK"):
        return Wrong(
            "SEC-006", "changed", it(f"has another key in the copy that its program keeps ({field})."), (field,)
        )
    return Wrong(
        "KEY-004", "changed", it(f"is not written as its reader finds it ({field}: {found or 'missing'})."), (field,)
    )


def _mode(rule: str, field: str, found: str, about: str) -> Wrong:
    """A mode that is not as it should be; one that keeps more from others is no danger."""
    if found.isdigit() and not int(found, 8) & 0o077:
        return Wrong(
            rule, "changed", its("mode", f"is {found}, which others gain nothing by."), (field,), "low", about=about
        )
    text = its("mode", f"is {found}: others may look at it or change it.")
    return Wrong(rule, "changed", text, (field,), about=about)
