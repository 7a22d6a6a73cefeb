# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What adopt gives to Ansible: what an account has already, what is used from now on, and the changed accounts file."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Relation = Literal["equal", "equivalent", "different", "left"]
"""To the desired state: left is what hpc-onboard neither uses nor touches."""
AccountSettings = dict[str, Any]
"""Settings of an account in the accounts file, to be added to those that it has."""


class AdoptionOffer(TypedDict):
    """That the user has things on the account already: how many, and the command that shows them."""

    things: int
    command: list[str]


class ExistingUse(TypedDict):
    """One thing of the user's. use: what is used from now on, in words.

    keep: the settings by which it is used; empty where none is needed. replace: those by which hpc-onboard's own takes
    its place; None where that is no question. lost: what hpc-onboard's own does not do.
    """

    relation: Relation
    thing: str
    use: str
    keep: AccountSettings
    replace: AccountSettings | None
    lost: list[str]


class AdoptAccount(TypedDict):
    """Of the part of adopt that looks at one account. unclear: sentences about what was left. sandbox: its folder."""

    kind: Literal["adopt_account"]
    changed: Literal[False]
    things: list[ExistingUse]
    unclear: list[str]
    sandbox: NotRequired[str]


class AdoptPart(TypedDict):
    """Of a part of adopt that shows nothing, or that the user has said no to."""

    kind: Literal["adopt_part"]
    changed: Literal[False]
    cancelled: NotRequired[Literal[True]]


class AdoptChosen(TypedDict):
    """Of the part that asks about what is different. before, after: the text of the accounts file.

    left: how many different things the user was not asked about.
    """

    kind: Literal["adopt_chosen"]
    changed: bool
    file: str
    before: str
    after: str
    left: int


class AdoptWritten(TypedDict):
    """Of the part that writes the accounts file. next: the command that shows what follows."""

    kind: Literal["adopt_written"]
    changed: Literal[True]
    file: str
    next: list[str]
