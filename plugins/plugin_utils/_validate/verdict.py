# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a key: one finding per level of proof, and what they come to together.

A level that was not measured never counts as proof, and a refusal at one level is never outvoted by another level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

FORM, ISSUER, TOKEN, MANIFEST = "form", "issuer", "token", "manifest"
LEVELS = (ISSUER, TOKEN, MANIFEST)


class KeyVerdict(StrEnum):
    """The verdict of one level, or of all levels together."""

    VALID = "valid"
    INVALID = "invalid"
    NOT_ENTITLED = "not_entitled"
    UNREACHABLE = "unreachable"
    NOT_MEASURED = "unknown"


_BY_RANK = (KeyVerdict.INVALID, KeyVerdict.NOT_ENTITLED, KeyVerdict.VALID, KeyVerdict.UNREACHABLE)


@dataclass(frozen=True)
class LevelFinding:
    """The finding of one level: the verdict, its HTTP status, and one sentence with the next step."""

    level: str
    verdict: KeyVerdict
    sentence: str
    status: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_measured(self) -> bool:
        """True if this level says something about the key."""
        return self.verdict not in (KeyVerdict.UNREACHABLE, KeyVerdict.NOT_MEASURED)


@dataclass(frozen=True)
class Judgement:
    """All findings about one key. kind: what the key is, in words; the first finding is that of its form."""

    kind: str
    findings: tuple[LevelFinding, ...]

    @property
    def verdict(self) -> KeyVerdict:
        """The worst verdict of a service; the form alone says nothing about validity."""
        verdicts = {finding.verdict for finding in self._service_findings}
        if not self.is_agreed:
            refused = any((one.level, one.verdict) == (ISSUER, KeyVerdict.INVALID) for one in self.findings)
            return KeyVerdict.INVALID if refused else KeyVerdict.NOT_ENTITLED
        return next((verdict for verdict in _BY_RANK if verdict in verdicts), KeyVerdict.NOT_MEASURED)

    @property
    def is_agreed(self) -> bool:
        """False if one level refuses a key that another level accepts."""
        verdicts = {finding.verdict for finding in self._service_findings}
        return KeyVerdict.INVALID not in verdicts or not verdicts & {KeyVerdict.VALID, KeyVerdict.NOT_ENTITLED}

    @property
    def is_dead(self) -> bool:
        """True if every level that was to be measured responded and refused the key."""
        verdicts = {finding.verdict for finding in self._service_findings} - {KeyVerdict.NOT_MEASURED}
        return verdicts == {KeyVerdict.INVALID}

    @property
    def sentence(self) -> str:
        """Return what each level found, the worst first, what is unknown, and the next step."""
        measured = sorted(
            (one for one in self._service_findings if one.is_measured), key=lambda one: one.verdict != self.verdict
        )
        missing = [one for one in self._service_findings if not one.is_measured]
        texts = [one.sentence for one in measured] + [f"unknown at {one.level}: {one.sentence}" for one in missing]
        return ("" if self.is_agreed else "the services disagree: ") + "; ".join(texts)

    @property
    def _service_findings(self) -> list[LevelFinding]:
        return [finding for finding in self.findings if finding.level != FORM]
