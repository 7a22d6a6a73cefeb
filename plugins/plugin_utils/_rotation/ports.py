# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rotation does outside its records, and how that can fail.

Everything is named by version and target; the values of keys stay on the far side.
"""

from __future__ import annotations

from typing import NamedTuple

from .._secrets.versions import KeyVersion


class StepRefused(Exception):
    """The step was certainly not taken."""


class TargetUnreachable(StepRefused):
    """The step was not taken: the account did not respond from the start."""


class RotatedElsewhere(StepRefused):
    """The step was not taken: another machine has rotated the key of the target since."""


class KeyNotHeld(StepRefused):
    """The step was not taken: the target holds no version of the key. found: none, or an unknown key's fingerprint."""

    def __init__(self, found: str) -> None:
        super().__init__(found)
        self.found = found


class OutcomeUnknown(Exception):
    """The step was begun, and its outcome is unknown."""


class EffectReport(NamedTuple):
    """What a check of a target or of a key found: a verdict, and the evidence that may be recorded."""

    verdict: str = ""
    evidence: dict[str, str | int] = {}


class RotationEffects:
    """The keyring, the services and the accounts. A side of a rotation overrides what it can do.

    Every method may raise StepRefused or OutcomeUnknown, and may be called again.
    """

    def probe(self, target: str) -> EffectReport:
        """Check that the target can be written; changes nothing."""
        raise TargetUnreachable

    def install(self, target: str, version: str) -> EffectReport:
        """Write the version to the target and read it back."""
        raise TargetUnreachable

    def verify(self, target: str, version: str) -> EffectReport:
        """Return what the target can do with the version."""
        raise TargetUnreachable

    def read(self, target: str, version: str) -> EffectReport:
        """Check that the target holds the version; changes nothing. Refused if it holds another key or none."""
        raise TargetUnreachable

    def put_back(self, target: str, version: str) -> None:
        """Restore what the target held before this version, if this version is there.

        The process that installed it has the old bytes; a later process writes the current version.
        """
        raise StepRefused

    def take(self, version: str) -> KeyVersion:
        """Put the key of the version into the keyring. Asks for it only if it is not there yet."""
        raise StepRefused

    def prove(self, version: str) -> EffectReport:
        """Return what the services say about the version."""
        raise StepRefused

    def last_day(self, version: str) -> str:
        """Return the last day of the version, as it was reported when it was proven; empty if unknown."""
        return ""

    def forget(self, version: str) -> None:
        """Remove the value from the keyring, if it is there."""
        raise StepRefused
