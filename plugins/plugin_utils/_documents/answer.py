# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account answers, as docs/schemas/answer.schema.json has it, and what is noted there (receipt.schema.json)."""

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
"""One thing that was made on an account (module_utils/_receipt/notes.py)."""

Notes = dict[str, ReceiptNote]


class RotationMark(TypedDict):
    """Which rotation last installed a key. controller: the name of the machine that led it, where that is known."""

    sequence: int
    rotation: str
    machine: str
    controller: str
    when: str


class KeyRotations(TypedDict):
    """What this machine tells an account of a key's rotations (docs/schemas/plan.schema.json).

    sequence: the highest of those that it knows. known: their ids. mark: of the one whose key is sent; None: of none.
    held: fingerprints of the key that is current here; versions: of all others that this machine can recognise.
    """

    sequence: int
    known: list[str]
    mark: RotationMark | None
    held: NotRequired[list[str]]
    versions: NotRequired[list[str]]


class AccountReceipt(TypedDict):
    """What is noted on the account. keys: by secret. problem: why nothing could be noted."""

    notes: Notes
    keys: dict[str, RotationMark]
    problem: str | None


class AccountOwner(TypedDict):
    """Whose account answered: its home and its login shell, absolute paths; empty where an older engine answers."""

    home: str
    shell: str


class EngineFile(TypedDict):
    """The engine that an account keeps. python: the version for which it is. digest: of its index, in hex."""

    python: str
    digest: str


class EngineAnswer(TypedDict):
    """The answer to one plan. receipt: None where the plan did not ask for it. seconds: how long the engine worked.

    engine: the file that it keeps; None where it was not asked to, or could not.
    """

    outcomes: list[ResourceOutcome]
    error: str | None
    receipt: AccountReceipt | None
    engine: EngineFile | None
    account: AccountOwner
    python: str
    host: str
    seconds: float
