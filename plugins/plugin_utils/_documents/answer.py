# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's response on an account (docs/schemas/answer.schema.json), and its receipt (receipt.schema.json)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .declaration import Options
from .outcome import ResourceOutcome, State

ReceiptNote = TypedDict(
    "ReceiptNote",
    {
        "kind": str,
        "capability": str,
        "identity": str,
        "options": Options,
        "hashes": State,
        "keyed": dict[str, State],
        "clusters": list[str],
        "made": bool,
        "found": NotRequired[State],
        "former": NotRequired[list[State]],
        "was": NotRequired[State],
        "replaced": NotRequired[bool],
        "secret": NotRequired[str],
        "state": Literal["intended", "done"],
        "for": str,
    },
)
"""The entry of a receipt about one resource of an account (module_utils/_receipt/notes.py)."""

Notes = dict[str, ReceiptNote]


class RotationMark(TypedDict):
    """The rotation that last installed a key. controller: the name of the machine that ran it, if known."""

    sequence: int
    rotation: str
    machine: str
    controller: str
    when: str


class KeyRotations(TypedDict):
    """A plan's part about the rotations of a key (docs/schemas/plan.schema.json).

    known: ids of the rotations that this machine knows. mark: the rotation whose key is sent; None for a key without
    one. held: fingerprints of the current key. versions: those of all other versions.
    """

    known: list[str]
    mark: RotationMark | None
    held: NotRequired[list[str]]
    versions: NotRequired[list[str]]


class AccountReceipt(TypedDict):
    """The receipt of an account. keys: secret -> its last rotation. problem: why the receipt could not be written."""

    notes: Notes
    keys: dict[str, RotationMark]
    problem: str | None


class AccountOwner(TypedDict):
    """Home directory and login shell of the account; empty in the response of an older engine."""

    home: str
    shell: str


class EngineFile(TypedDict):
    """The engine that is stored on an account. python: the Python version it is for. digest: of its index, in hex."""

    python: str
    digest: str


class EngineAnswer(TypedDict):
    """The response to one plan. receipt: None if the plan did not request it. seconds: how long the engine worked.

    engine: the stored engine; None if the plan did not request one, or it could not be stored.
    """

    outcomes: list[ResourceOutcome]
    error: str | None
    receipt: AccountReceipt | None
    engine: EngineFile | None
    account: AccountOwner
    python: str
    host: str
    seconds: float
