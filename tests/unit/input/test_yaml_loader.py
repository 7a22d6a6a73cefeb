# SPDX-License-Identifier: GPL-3.0-or-later
"""A document of others is bounded: one mistake with its line, no hang, no exhausted stack, no traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import quick_look
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes, YamlText
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.yaml_loader import MAX_DEPTH, find_excess

from tests.hostile_words import DOCUMENTS

ALIASES = "x0: &b0 [1]\n" + "".join(f"x{i}: &b{i} [{','.join([f'*b{i - 1}'] * 9)}]\n" for i in range(1, 12))
BOMBS = {
    "aliases of aliases": (ALIASES, 6, "more than 100000 values"),
    "lists in lists": (
        "a: 1\nb: " + "[" * 50_000,
        2,
        "levels deep|maximum nesting depth",
    ),  # libyaml bounds it since 0.2.6
    "mappings in mappings": ("a: " + "{a: " * 3000 + "1" + "}" * 3000, 1, "more than 50 levels deep"),
    "a list that holds itself": ("a: &a [*a]\n", 1, "is inside its own anchor"),
    "a number of 5000 digits": ("a: 1\nb: " + "9" * 5000, 2, "more than 20 digits"),
}


@pytest.mark.parametrize(("text", "line", "why"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_one_mistake_with_its_line_and_reason(tmp_path: Path, text: str, line: int, why: str) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text(text)
    for read in (lambda: YamlText(file, text).document(), lambda: quick_look.list_accounts(file)):
        with pytest.raises(Mistakes) as refused:
            read()
        (mistake,) = refused.value.found
        assert mistake.line == line
        assert re.search(why, mistake.text)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_without_bounds_is_one_mistake_with_its_line(tmp_path: Path, name: str) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text(DOCUMENTS[name])
    for read in (lambda: YamlText(file, DOCUMENTS[name]).document(), lambda: quick_look.list_accounts(file)):
        with pytest.raises(Mistakes) as refused:
            read()
        (mistake,) = refused.value.found
        assert mistake.line


@pytest.mark.parametrize(
    "text",
    [
        "a: &x {b: 1}\nc: *x\nd: {<<: *x}\n",
        "a: 0123456789abcdef0123456789abcdef\n",
        'a: "' + "1" * 5000 + '"\n',
        "a: !!str 1\nb: !vault |\n  1\n",
        "[" * MAX_DEPTH + "]" * MAX_DEPTH,
        "not: [yaml",
    ],
)
def test_what_people_write_is_within_the_bounds(text: str) -> None:
    assert find_excess(text) is None
