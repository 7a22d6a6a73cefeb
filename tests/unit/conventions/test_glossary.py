# SPDX-License-Identifier: GPL-3.0-or-later
"""The glossary explains the words of the help, in alphabetical order, and no word that is retired."""

from __future__ import annotations

import re

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.main import describe_command

from tools.retired_words import PATTERN, ROOT, find_retired

PAGE = ROOT / "docs" / "glossary.md"
WORDS = re.findall(r"(?m)^\| ([\w -]+) \|", PAGE.read_text(encoding="utf-8"))[1:]
USED = ("onboard", "plan", "audit", "fix", "drift", "key", "cluster", "account", "manual step", "preflight", "offboard")


def test_the_glossary_is_sorted_and_names_each_word_once() -> None:
    assert sorted(set(WORDS), key=str.lower) == WORDS
    assert [word for word in WORDS if PATTERN.fullmatch(word)] == []


@pytest.mark.parametrize("word", USED)
def test_a_word_of_the_help_is_explained(word: str) -> None:
    assert word in describe_command(is_whole=True).lower()
    assert word in WORDS


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("Every verb of it.", True),
        ("nobody was asked", True),
        ("It leads to /work.", True),
        ("a role's settings", False),
        ("docs/verbs.py names them", False),
    ],
)
def test_a_retired_word_is_found(text: str, is_found: bool) -> None:
    assert bool(PATTERN.search(text)) == is_found


def test_the_glossary_has_no_retired_word() -> None:
    assert list(find_retired(PAGE)) == []
