# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The effects of a rotation on the keyring, the services and the accounts, and the exceptions of failed effects.

A rotation replaces a key on all accounts. A version is one value of the key, named by an id; a target is one file with
the key on one account, named ACCOUNT:RESOURCE_TYPE. So no value of a key passes through this interface.
"""

from __future__ import annotations

from typing import NamedTuple

from .._secrets.versions import KeyVersion


class StepRefused(Exception):
    """The step was not taken, and nothing was changed."""


class TargetUnreachable(StepRefused):
    """The step was not taken: the account could not be reached."""


class RotatedElsewhere(StepRefused):
    """The step was not taken: another machine has rotated the key of the target since."""


class KeyNotHeld(StepRefused):
    """The step was not taken: the target has no version of the key.

    found: "none" for a target without a key, or the fingerprint of the unknown key.
    """

    def __init__(self, found: str) -> None:
        super().__init__(found)
        self.found = found


class OutcomeUnknown(Exception):
    """The step began, and whether it succeeded is unknown."""


class EffectReport(NamedTuple):
    """The result of an effect: the verdict of a test of the key, or empty, and evidence for the ledger."""

    verdict: str = ""
    evidence: dict[str, str | int] = {}


class RotationEffects:
    """The effects that the steps of a rotation need. A subclass overrides those of its side: controller or account.

    An EffectReport is the result of a method for the ledger. target, version: the name of the target, the version's id.

    The methods below raise StepRefused; a subclass does not override the methods of the other side. So if the
    controller itself takes a step for an account, it records the target as unreachable. Every method may raise
    StepRefused or OutcomeUnknown. After a crash, the method is called again.
    """

    def probe(self, target: str) -> EffectReport:
        """Check that the target can be written. Nothing is changed."""
        raise TargetUnreachable

    def install(self, target: str, version: str) -> EffectReport:
        """Write the key of the version to the target, and read the target again."""
        raise TargetUnreachable

    def verify(self, target: str, version: str) -> EffectReport:
        """Return the verdict of a test of the version on the account of the target."""
        raise TargetUnreachable

    def read(self, target: str, version: str) -> EffectReport:
        """Return the verdict on the key in the target's file. Raise StepRefused unless it is the key of the version."""
        raise TargetUnreachable

    def put_back(self, target: str, version: str) -> None:
        """Restore what the target had before this version. Do nothing if the target does not have this version.

        The process that installed the version restores the old content. A later process no longer has the old content,
        and writes the current version instead.
        """
        raise StepRefused

    def store_key(self, version: str) -> KeyVersion:
        """Store the key of the version in the keyring; the user is asked only if the keyring does not have the key."""
        raise StepRefused

    def test_key(self, version: str) -> EffectReport:
        """Return the verdict of the services on the version."""
        raise StepRefused

    def last_day(self, version: str) -> str:
        """Return the last day on which the version is valid, as YYYY-MM-DD; empty if unknown."""
        return ""

    def remove_key(self, version: str) -> None:
        """Remove the key of the version from the keyring. A missing key is not an error."""
        raise StepRefused
