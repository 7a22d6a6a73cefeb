# SPDX-License-Identifier: GPL-3.0-or-later
"""The advice of every rule: all that it names is filled in."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.fixes import FixCommands
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.key_ages import key_findings
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import Invocation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import KeyVersion, Secret

START = Invocation(("hpc-onboard",), True, None, ())
CASES = [(rule, case) for rule, one in RULES.items() for case in ("", *one.cases)]


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_the_advice_of_a_rule_can_be_filled_in(rule: str, case: str) -> None:
    finding: Any = {"rule": rule, "case": case, "place": "~/x", "capability": "watch", "class": "broken"}
    assert FixCommands(START).find_fix(finding, "a@b")


@pytest.mark.parametrize(("rule", "options"), [("KEY-007", ""), ("KEY-008", ""), ("KEY-011", " --retired")])
def test_the_command_that_replaces_a_key_names_the_key(rule: str, options: str) -> None:
    current = KeyVersion("v2", "legacy", "current", expires="2026-12-01")
    secret = Secret("wandb", (KeyVersion("v1", "personal", "previous"), current))
    findings = [one for one in key_findings({"wandb": secret}, date(2026, 11, 25)) if one["rule"] == rule]
    ((fix,),) = [FixCommands(START).find_fix(one, "a@b") for one in findings]
    assert fix["text"].endswith(f": hpc-onboard rotate --secret wandb{options}")
