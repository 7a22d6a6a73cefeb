# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a conda or its environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..finding_text import bare, it, its, reason_of
from .common import Look, Wrong, in_the_way

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.outcome import ResourceOutcome


def judge(_entry: PlanEntry, outcome: ResourceOutcome, _look: Look) -> list[Wrong]:
    """What is wrong with it."""
    before = outcome["before"]
    if not before:
        return [in_the_way("PKG-005", outcome) or Wrong("PKG-005", "missing", it("is not there."))]
    if "is" in before:
        return [Wrong("PKG-005", "broken", reason_of(outcome) or it(f"is {before['is']}."), ("is",))]
    hindered = in_the_way("PKG-005", outcome)
    return [_conda_field(field, before) for field in outcome["fields"]] or ([hindered] if hindered else [])


def _conda_field(field: str, before: Mapping[str, str]) -> Wrong:
    if field.startswith("environment "):
        if field not in before:
            return Wrong("PKG-005", "missing", bare(f"The {field} is not there."), (field,))
        return Wrong("PKG-004", "changed", bare(f"The {field} is as another file says."), (field,))
    if field == "conda":
        return Wrong("PKG-004", "changed", it("is another version than wanted."), (field,))
    return Wrong("PKG-003", "changed", its("settings", f"({field}) are others than ours."), (field,))
