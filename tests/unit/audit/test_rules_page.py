# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/rules.md says of every rule what it means, why it matters and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules import RULES

PAGE = (Path(__file__).parents[3] / "docs/rules.md").read_text(encoding="utf-8")
PARTS = dict(re.findall(r"^### ([A-Z]{3}-\d{3})\n\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_the_page_has_the_rules_in_their_order_and_no_others() -> None:
    assert list(PARTS) == list(RULES)
    assert re.findall(r"^### (.*)", PAGE, re.MULTILINE) == list(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_its_title_severity_and_a_paragraph(rule: str) -> None:
    title, *text = PARTS[rule].strip().split("\n", 1)
    assert title == f"**{RULES[rule].title}.** {RULES[rule].severity.capitalize()}."
    (paragraph,) = text
    assert 120 < len(paragraph) < 900
    assert "\n\n" not in paragraph.strip()
    assert "`" in paragraph, "what to type"


def test_ids_are_never_used_twice() -> None:
    assert len(re.findall(r"^### ", PAGE, re.MULTILINE)) == len(RULES)
