# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a key: one finding per level of validation, and the overall verdict.

A level that was not measured never proves anything, and a refusal at one level always outweighs the other levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

ISSUER, TOKEN, MANIFEST = "issuer", "token", "manifest"
LEVELS = (ISSUER, TOKEN, MANIFEST)


class KeyVerdict(StrEnum):
    """The verdict of one level, or the overall verdict. NOT_ENTITLED: the service knows the key, but refuses access."""

    VALID = "valid"
    INVALID = "invalid"
    NOT_ENTITLED = "not_entitled"
    UNREACHABLE = "unreachable"
    NOT_MEASURED = "unknown"


# the overall verdict is the first of these verdicts that a level has
_BY_RANK = (KeyVerdict.INVALID, KeyVerdict.NOT_ENTITLED, KeyVerdict.VALID, KeyVerdict.UNREACHABLE)


@dataclass(frozen=True)
class LevelFinding:
    """The finding of one level. status: of HTTP. sentence: for the user, with what to do.

    details: what the issuer reports about the key, such as its last day ("expires"); {} from other levels.
    """

    level: str
    verdict: KeyVerdict
    sentence: str
    status: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_measured(self) -> bool:
        """Return True if this level has a verdict about the key."""
        return self.verdict not in (KeyVerdict.UNREACHABLE, KeyVerdict.NOT_MEASURED)


@dataclass(frozen=True)
class Judgement:
    """The findings of the services about one key, one for each level."""

    findings: tuple[LevelFinding, ...]

    @property
    def verdict(self) -> KeyVerdict:
        """Return the overall verdict of the services."""
        verdicts = {finding.verdict for finding in self.findings}
        if not self.is_agreed:
            is_refused_by_issuer = any(
                (finding.level, finding.verdict) == (ISSUER, KeyVerdict.INVALID) for finding in self.findings
            )
            # the issuer knows its keys best: if it accepts the key, a registry only refuses access
            return KeyVerdict.INVALID if is_refused_by_issuer else KeyVerdict.NOT_ENTITLED
        return next((verdict for verdict in _BY_RANK if verdict in verdicts), KeyVerdict.NOT_MEASURED)

    @property
    def is_agreed(self) -> bool:
        """Return False if one level refuses a key that another level knows (valid, or not entitled to the image)."""
        verdicts = {finding.verdict for finding in self.findings}
        return KeyVerdict.INVALID not in verdicts or not verdicts & {KeyVerdict.VALID, KeyVerdict.NOT_ENTITLED}

    @property
    def is_dead(self) -> bool:
        """Return True if all levels refused the key, except for levels with the verdict NOT_MEASURED."""
        verdicts = {finding.verdict for finding in self.findings} - {KeyVerdict.NOT_MEASURED}
        return verdicts == {KeyVerdict.INVALID}

    @property
    def sentence(self) -> str:
        """Return the sentences of all levels: first those with the overall verdict, last those without a verdict."""
        measured = [finding for finding in self.findings if finding.is_measured]
        measured.sort(key=lambda finding: finding.verdict != self.verdict)
        unknown = [finding for finding in self.findings if not finding.is_measured]
        texts = [finding.sentence for finding in measured]
        texts += [f"unknown at {finding.level}: {finding.sentence}" for finding in unknown]
        return ("" if self.is_agreed else "the services disagree: ") + "; ".join(texts)
