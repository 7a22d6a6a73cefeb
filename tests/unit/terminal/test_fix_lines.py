# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of fix.yml: the offers by account, and their results."""

from __future__ import annotations

from typing import Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Outcome
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.offered_fixes import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.account import View, load_renderer
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.fix import EFFECTS
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import plain_text

LINK = {"kind": "leftover_fix", "options": {"path": "~/old", "what": "link", "mark": "key 0123456789ab"}}
OFFER = {"account": "a@lrz", "rule": "LNK-003", "place": "~/old", "text": "Nothing is at /gone.", "auto_fix": LINK}


def said(kind: str, result: dict[str, Any], check: bool = False) -> list[str]:
    """The lines of a result."""
    return [
        plain_text(line) for line in load_renderer(kind).lines("a@lrz", {"kind": kind, **result}, View(check=check))
    ]


def test_what_is_offered_is_shown_with_what_would_be_done() -> None:
    assert said("fix_shown", {"offered": [OFFER]}) == [
        "a@lrz",
        "  - LNK-003      ~/old: Nothing is at /gone.",
        "                 removes the link",
    ]
    (nothing,) = said("fix_shown", {"offered": []})
    assert "nothing" in nothing


def test_every_kind_of_fix_has_its_words() -> None:
    whats = KINDS["leftover_fix"].OPTIONS["what"]["choices"]
    assert {*EFFECTS} == {*KINDS, *whats} - {"leftover_fix"}


def test_what_came_of_it_is_told_and_a_link_can_be_made_again() -> None:
    gone = Outcome("~/old (link)", {"target": "/gone"}, {}).document()
    left = Outcome("what is set in ~/.bashrc", {"K": "is set there"}, {}, "~/.bashrc: line 2 uses $K").document()
    lines = said("fix_account", {"outcomes": [gone, left]})
    assert lines[1:] == [
        "  - fixed        ~/old (link): pointed to /gone",
        "  ! left         what is set in ~/.bashrc: K",
        "                 ~/.bashrc: line 2 uses $K",
    ]
    assert "to fix" in said("fix_account", {"outcomes": [gone]}, check=True)[1]
