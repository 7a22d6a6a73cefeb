# SPDX-License-Identifier: GPL-3.0-or-later
"""The advice of every rule: all that it names is filled in."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.fixes import FixCommands
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import Invocation

CASES = [(rule, case) for rule, one in RULES.items() for case in ("", *one.cases)]


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_the_advice_of_a_rule_can_be_filled_in(rule: str, case: str) -> None:
    start = Invocation(("hpc-onboard",), True, None, ())
    finding: Any = {"rule": rule, "case": case, "place": "~/x", "capability": "watch", "class": "broken"}
    assert FixCommands(start).find_fix(finding, "a@b")
