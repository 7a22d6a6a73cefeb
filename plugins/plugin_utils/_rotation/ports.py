# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rotation needs of everything that is not itself: where it writes, and what it can do in the world.

Everything travels by version and target; values stay on the far side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from .._secrets.versions import Secret, Version
from .._state.signed_record import Event, Record


class Refused(Exception):
    """It was not done, that is sure."""


class Unreachable(Refused):
    """It was not done, since nobody answered from the start."""


class Outdated(Refused):
    """It was not done, since another machine has rotated the key of the target since."""


class NotHeld(Refused):
    """It was not done, since the target holds no version of the key. found: none, or an unknown key's fingerprint."""

    def __init__(self, found: str) -> None:
        super().__init__(found)
        self.found = found


class Unanswered(Exception):
    """It was begun, and nobody said what came of it."""


class Found(NamedTuple):
    """What a look at a target or at a key says: a verdict, and what may be written down of it."""

    verdict: str = ""
    evidence: dict[str, str | int] = {}


class Book(Protocol):
    """The ledger."""

    def append(self, event: Event) -> Record:
        """Add a record, durably."""

    def records(self) -> Sequence[Record]:
        """All records, oldest first."""


class Labels(Protocol):
    """The versions of the secret."""

    def secret(self) -> Secret | None:
        """What is known."""

    def adopt(self, kind: str, fingerprint: str = "", targets: tuple[str, ...] = (), sealed: str = "") -> Secret:
        """What is known, or the first version."""

    def move(self, change: Callable[[Secret], Secret]) -> Secret:
        """Change all at once."""


class Outside(Protocol):
    """The world: keyring, person, issuer, targets. Each raises Refused or Unanswered, and may be asked again."""

    def probe(self, target: str) -> Found:
        """Look whether the target can be written; nothing is changed."""

    def take(self, version: str) -> Version:
        """The key of the version, in the keyring: asked for only if it is not there yet. Its value stays there."""

    def prove(self, version: str) -> Found:
        """What the issuer says of the version."""

    def last_day(self, version: str) -> str:
        """Until when the version is good, as far as anybody said when it was proven; empty where nobody did."""

    def install(self, target: str, version: str) -> Found:
        """Write the version to the target and read it back."""

    def verify(self, target: str, version: str) -> Found:
        """What the target can do with the version."""

    def read(self, target: str, version: str) -> Found:
        """See that the target holds the version; nothing is changed. Refused: it holds another key, or none."""

    def put_back(self, target: str, version: str) -> None:
        """The target holds again exactly what it held before this version, if this version is there.

        In the process that installed it the old bytes are at hand; in a later one the current version is written.
        """

    def deactivate(self, version: str) -> None:
        """The version is refused from now on, where it was made."""

    def reactivate(self, version: str) -> None:
        """The version is good again."""

    def forget(self, version: str) -> None:
        """Take the value out of the keyring, if it is there."""
