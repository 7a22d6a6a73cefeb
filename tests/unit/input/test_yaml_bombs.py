# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small text that becomes large is one mistake with its line, before anything is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import quick_look
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Lines, Mistakes

ALIASES = "x0: &b0 [1]\n" + "".join(f"x{i}: &b{i} [{','.join([f'*b{i - 1}'] * 9)}]\n" for i in range(1, 12))
BOMBS = {
    "aliases of aliases": (ALIASES, 6, "100,000 values"),
    "lists in lists": ("a: 1\nb: " + "[" * 50_000, 2, "within more than 50"),
    "mappings in mappings": ("a: " + "{a: " * 3000 + "1" + "}" * 3000, 1, "within more than 50"),
    "a list that holds itself": ("a: &a [*a]\n", 1, "holds itself"),
    "a number of 5000 digits": ("a: 1\nb: " + "9" * 5000, 2, "at most 30 digits"),
}


@pytest.mark.parametrize(("text", "line", "why"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_one_mistake_with_its_line(tmp_path: Path, text: str, line: int, why: str) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text(text)
    for read in (lambda: Lines(file, text).document(), lambda: quick_look.accounts(file)):
        with pytest.raises(Mistakes) as raised:
            read()
        (mistake,) = raised.value.found
        assert mistake.line == line
        assert why in mistake.text


def test_a_text_of_a_mistake_moves_no_cursor(tmp_path: Path) -> None:
    file = tmp_path / "own.yml"
    said = str(Lines(file, "a: 1").mistake(("a",), "what is \x1b]0;pwn\x07 \u2800 here?"))
    assert said.endswith(r"what is \u001b]0;pwn\u0007 \u2800 here?")
