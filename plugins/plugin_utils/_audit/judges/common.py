# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judges of all kinds have in common: what they are given, and what they answer.

A judge is a file here with the name of its kind, and in it judge(entry, outcome, look): what is wrong with a declared
resource that is not in place. The kinds of files with a key have one for all, kept_key.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..finding_text import Text, reason_of

if TYPE_CHECKING:
    from ..._documents.answer import Notes
    from ..._documents.declaration import PlanEntry, ResourceEntry
    from ..._documents.finding import Cause, Class
    from ..._documents.outcome import ResourceOutcome, Severity


class Wrong(NamedTuple):
    """One thing that is wrong with one resource.

    fields: which of its fields; severity: where it is not the rule's; about: what it is about, where that is not the
    resource alone (several entries share a file); fix: what fixes it there without a loss; case: which advice fits.
    """

    rule: str
    what: Class
    text: Text
    fields: tuple[str, ...] = ()
    severity: Severity | Literal[""] = ""
    place: str = ""
    cause: Cause | Literal[""] = ""
    about: str = ""
    auto_fix: ResourceEntry | None = None
    case: str = ""


class Look(NamedTuple):
    """What one account was looked at with, beside the outcomes.

    notes: its receipt; fingerprints: which key the fingerprints here are made with; old: fingerprints of keys that
    were replaced, and of which secret; purged: paths (or the variables that they begin with) that the site purges.
    """

    notes: Notes
    fingerprints: str
    old: Mapping[str, str]
    purged: tuple[str, ...]


Judge = Callable[["PlanEntry", "ResourceOutcome", Look], list[Wrong]]


def in_the_way(rule: str, outcome: ResourceOutcome) -> Wrong | None:
    """The finding of what stands where the thing belongs, or why it cannot be made there; None where nothing does."""
    reason = reason_of(outcome)
    return Wrong(rule, "broken", reason) if reason else None


def is_purged(entry: PlanEntry, look: Look) -> bool:
    """Whether a resource lies on storage that the site purges."""
    paths = [str(entry["options"].get(name, "")) for name in ("path", "target")]
    return any(path == area or path.startswith(area + "/") for path in paths for area in look.purged)
