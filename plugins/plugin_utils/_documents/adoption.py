# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of adopt's tasks: what exists on an account, what will be used, and the changed accounts file."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Relation = Literal["equal", "equivalent", "different", "left"]
"""The comparison of an existing resource with the desired state. left: hpc-onboard neither uses nor changes it."""
AccountSettings = dict[str, Any]
"""Settings to add to an account in the accounts file."""


class AdoptionOffer(TypedDict):
    """The number of things that the user already has on the account, and the command that shows them."""

    things: int
    command: list[str]


class ExistingUse(TypedDict):
    """An existing thing of the user. use: a sentence about what will be used.

    keep: settings that use the existing thing; {} if none is needed. replace: settings that use hpc-onboard's own
    instead; None if the user need not choose. lost: what hpc-onboard's own cannot do.
    """

    relation: Relation
    thing: str
    use: str
    keep: AccountSettings
    replace: AccountSettings | None
    lost: list[str]


class AdoptAccount(TypedDict):
    """Result for one account. unclear: sentences about what was skipped. sandbox: the folder of a sandbox."""

    kind: Literal["adopt_account"]
    changed: Literal[False]
    things: list[ExistingUse]
    unclear: list[str]
    sandbox: NotRequired[str]


class AdoptChosen(TypedDict):
    """Result of the task that asks what to keep. before, after: the text of the accounts file.

    left: number of things that differ and that the user was not asked about.
    """

    kind: Literal["adopt_chosen"]
    changed: bool
    file: str
    before: str
    after: str
    left: int


class AdoptWritten(TypedDict):
    """Result of the task that writes the accounts file. next: the command to run next."""

    kind: Literal["adopt_written"]
    changed: Literal[True]
    file: str
    next: list[str]
