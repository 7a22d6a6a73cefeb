# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The type of a rule of the audit. The tables of rules are in the other modules of this package."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..._documents.finding import Cause, Class, Owner
    from ..._documents.outcome import Severity

CHECKS = "an audit check"
KEEPERS = "the Ansible roles that store keys"
KEEPERS_AND_CHECKS = f"{KEEPERS} and by {CHECKS}"
"""The parts that report findings, as docs/rules.md names them. A part that reports few rules is named in its table."""

NO_CASES: Mapping[str, str] = MappingProxyType({})
UNPLACED = "unplaced"
"""The case for a finding whose place is a variable that is set, but not by a start-up file."""


class Rule(NamedTuple):
    """A rule with its texts, from which docs/rules.md is generated.

    The page shows each text as a separate paragraph, so each text must be clear without the others.

    title: the finding in one sentence, without a full stop. reported_by: the role or part that reports the finding, as
    the end of "This finding is reported by". why: the meaning of the finding and its consequences. fix: what the user
    can do. found_class, found_cause: those of a finding of an audit check; for a declared resource they are computed.
    advice: the step in the report if no command fixes the finding; placeholders such as {place} are filled in by
    fixes.py. cases: case of a finding -> advice that replaces the usual one. owner: who can fix the problem.
    """

    title: str
    severity: Severity
    reported_by: str
    why: str
    fix: str
    found_class: Class = "unmanaged"
    found_cause: Cause = "hand"
    advice: str = "Inspect {place}."
    cases: Mapping[str, str] = NO_CASES
    owner: Owner = "user"
