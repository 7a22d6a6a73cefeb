# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a rule of the audit. The tables are key_rules.py, place_rules.py and software_rules.py."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..._documents.finding import Cause, Class
    from ..._documents.outcome import Severity

NO_CASES: Mapping[str, str] = MappingProxyType({})
UNPLACED = "unplaced"
"""The case of a finding whose place is a variable that no start-up file sets."""


class Rule(NamedTuple):
    """All that is stated of a rule. docs/rules.md is generated from it.

    title: the finding in one sentence, without its full stop. owner: the role or part that reports it. why: what it
    means and what it costs. fix: what to do, as the page says it. found_class, found_cause: of a finding that an audit
    check reports; a role's resource finds out its own. advice: the step of a finding that no command fixes, with
    {place} and the like (see fixes.py). cases: advice for special cases of the rule.
    """

    title: str
    severity: Severity
    owner: str
    why: str
    fix: str
    found_class: Class = "unmanaged"
    found_cause: Cause = "hand"
    advice: str = "Inspect {place}."
    cases: Mapping[str, str] = NO_CASES
