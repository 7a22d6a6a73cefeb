# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a key: a finding per level of proof, and the judgement that they make together.

What was not measured never counts as proof, and a refusal at one level is never outvoted by another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

FORM, ISSUER, TOKEN, MANIFEST = "form", "issuer", "token", "manifest"
LEVELS = (ISSUER, TOKEN, MANIFEST)


class Verdict(StrEnum):
    """What one level, or all of them, say of a key."""

    VALID = "valid"
    INVALID = "invalid"
    NOT_ENTITLED = "not_entitled"
    UNREACHABLE = "unreachable"
    NOT_MEASURED = "unknown"


_SAYS = (Verdict.VALID, Verdict.INVALID, Verdict.NOT_ENTITLED)
_ALIVE = (Verdict.VALID, Verdict.NOT_ENTITLED)


@dataclass(frozen=True)
class Finding:
    """What one level found: the verdict, the HTTP status that says so, and one sentence with the next step."""

    level: str
    verdict: Verdict
    sentence: str
    status: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        """Whether this level says something about the key."""
        return self.verdict in _SAYS


@dataclass(frozen=True)
class Judgement:
    """All findings about one key, and what they come to."""

    kind: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst that a service says; the form alone says nothing about validity."""
        found = {finding.verdict for finding in self._asked}
        if not self.agreed:
            return Verdict.INVALID if self._of(ISSUER) == Verdict.INVALID else Verdict.NOT_ENTITLED
        order = (Verdict.INVALID, Verdict.NOT_ENTITLED, Verdict.VALID, Verdict.UNREACHABLE)
        return next((verdict for verdict in order if verdict in found), Verdict.NOT_MEASURED)

    @property
    def agreed(self) -> bool:
        """Whether no level calls the key dead that another one finds alive."""
        found = {finding.verdict for finding in self._asked}
        return Verdict.INVALID not in found or not found & set(_ALIVE)

    @property
    def dead(self) -> bool:
        """Whether every level that was to be measured answered, and none of them found the key alive."""
        asked = {finding.verdict for finding in self._asked} - {Verdict.NOT_MEASURED}
        return asked == {Verdict.INVALID}

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of the levels that say something about the key."""
        return tuple(finding.level for finding in self.findings if finding.measured)

    @property
    def sentence(self) -> str:
        """What was found where, what was not measured, and the next step."""
        heard = sorted((f for f in self._asked if f.measured), key=lambda f: f.verdict != self.verdict)
        missing = [f for f in self._asked if not f.measured]
        said = [f.sentence for f in heard] + [f"not measured at {f.level}: {f.sentence}" for f in missing]
        return ("" if self.agreed else "the services disagree: ") + "; ".join(said)

    @property
    def _asked(self) -> Sequence[Finding]:
        return [finding for finding in self.findings if finding.level != FORM]

    def _of(self, level: str) -> Verdict | None:
        return next((finding.verdict for finding in self.findings if finding.level == level), None)
