# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The declaration of a role: entries of the plan, and the reasons for skipped ones."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Code = Literal[
    "without",  # excluded in the accounts file
    "made_by_site",
    "not_here",  # not available at this site
    "path_unknown",  # of the storage area in `area`
    "place_unknown",  # where programs of this site read, or where files may be stored
    "refused",  # by the site's rules
    "to_decide",  # the user has to choose in the accounts file
    "rotation_open",  # only the open rotation may write the files of the key
    "terms",  # licence terms of what is declared
    "key_absent",  # not in the keyring, and no setting requires the key
    "kept",  # the accounts file keeps the user's own
    "settings_refused",  # invalid settings of the role, so only the receipt knows its resources
]


class SkipReason(TypedDict):
    """The reason why a resource is not declared, or a remark. text: for users; programs read the code."""

    code: Code
    text: str
    area: NotRequired[str]


class Note(SkipReason):
    """A reason with the name of the role."""

    capability: str


Options = dict[str, Any]
"""Options of a resource, which depend on its type (module_utils/_options); _delivery/plan.py checks them."""


class ResourceEntry(TypedDict):
    """A declared resource, not checked yet. kind: its type."""

    kind: str
    options: Options


class PlanEntry(ResourceEntry):
    """A resource of a plan, with the role that declares it. key: NAME or NAME@VERSION of the key to send.

    replace: the user agreed to replace an existing key; offboarding restores it.
    is_unasked: the site's profile requests the resource, not the user, so it is skipped if its key is missing.
    """

    capability: str
    key: NotRequired[str]
    is_unasked: NotRequired[bool]
    replace: NotRequired[bool]


class Declaration(TypedDict):
    """The declaration of one role."""

    resources: list[ResourceEntry]
    notes: list[SkipReason]
