# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of rules: docs/rules.md shows all of a rule, and all that its advice names is filled in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.fixes import FixCommands
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.environment_rules import ENVIRONMENT_RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.exposure_rules import EXPOSURE_RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.file_rules import FILE_RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.key_rules import KEY_RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.place_rules import PLACE_RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.run_rules import RUN_RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.software_rules import SOFTWARE_RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import Invocation

PAGE = (Path(__file__).parents[3] / "docs/rules.md").read_text(encoding="utf-8")


def test_the_page_has_all_rules_once() -> None:
    assert re.findall(r"^### (.*)", PAGE, re.MULTILINE) == list(RULES)
    tables = (EXPOSURE_RULES, KEY_RULES, PLACE_RULES, ENVIRONMENT_RULES, FILE_RULES, SOFTWARE_RULES, RUN_RULES)
    assert len(RULES) == sum(map(len, tables))


@pytest.mark.parametrize("name", RULES)
def test_the_page_says_all_of_a_rule(name: str) -> None:
    rule, page = RULES[name], " ".join(PAGE.split())
    first = f"This finding is reported by {rule.reported_by}. Its default severity is {rule.severity}."
    assert f"### {name} **{rule.title}.** {first}" in page
    assert f"{rule.why} Fix: {rule.fix}" in page


@pytest.mark.parametrize(("rule", "case"), [(rule, case) for rule, one in RULES.items() for case in ("", *one.cases)])
def test_the_advice_of_a_rule_can_be_filled_in(rule: str, case: str) -> None:
    start = Invocation(("hpc-onboard",), True, None, ())
    finding: Any = {"rule": rule, "case": case, "place": "~/x", "capability": "watch", "class": "broken"}
    assert FixCommands(start).find_fix(finding, "a@b")
