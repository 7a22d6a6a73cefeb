# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a capability declares: entries of the plan, and why there are no more of them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Code = Literal[
    "without",  # the accounts file says so
    "made_by_site",
    "not_here",  # the site has nothing of the kind
    "path_unknown",  # of a storage area, which area names
    "place_unknown",  # where this site's programs read, or where things may lie
    "refused",  # by the site's rules
    "to_decide",  # by the person, who has to say so
    "rotation_open",  # which alone says what its files hold
    "terms",  # of others, which go with what is declared
    "key_absent",  # and nobody has asked for what needs it
    "kept",  # the user's own thing, as the accounts file says
    "settings_refused",  # by the role, so that the receipt alone says what is its own
]


class SkipReason(TypedDict):
    """Why something is not declared, or what goes with it. text: for people alone."""

    code: Code
    text: str
    area: NotRequired[str]


class Note(SkipReason):
    """A reason with the capability that gives it."""

    capability: str


Options = dict[str, Any]
"""What a resource is told: each kind has its own (module_utils/_options); _delivery/plan.py checks them."""


class ResourceEntry(TypedDict):
    """One resource of a kind, not checked yet."""

    kind: str
    options: Options


class PlanEntry(ResourceEntry):
    """One resource of a plan, with the capability that declares it. key: as it is sent, NAME or NAME@VERSION.

    replace: the user agreed that a thing of theirs in its place is moved away, and put back by offboarding.
    is_unasked: it follows from the site alone, and the account can do without it where its key is missing.
    """

    capability: str
    key: NotRequired[str]
    is_unasked: NotRequired[bool]
    replace: NotRequired[bool]


class Declaration(TypedDict):
    """What one capability declares."""

    resources: list[ResourceEntry]
    notes: list[SkipReason]
