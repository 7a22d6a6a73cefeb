# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What fixes a thing, from its fields to words: what can be pasted is told from what cannot."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import (
    Fix,
    account_command,
    advice,
    describe_fix,
    local_command,
    local_words,
    quote_for_account,
    render_in_one_line,
)
from hypothesis import given
from hypothesis import strategies as st

ANSIBLE = ["ansible", "-i", "my accounts", "a@lrz"]
MOVE = ["mv", "~/bin/x", "~/bin/x.mine"]
PASTED = "ansible -i 'my accounts' a@lrz -m raw -a 'mv ~/bin/x ~/bin/x.mine'"


@pytest.mark.parametrize(
    ("fix", "parts"),
    [
        ([], []),
        ([advice("compare the profile, then go on")], [("compare the profile, then go on", False)]),
        ([local_command("Kinit", "a b")], [("Kinit 'a b'", True)]),
        ([account_command(MOVE, ANSIBLE)], [(PASTED, True)]),
        ([account_command(MOVE, None)], [("In the sandbox, run: mv ~/bin/x ~/bin/x.mine", False)]),
        ([account_command(MOVE, ANSIBLE), local_command("true")], [(f"{PASTED} && true", True)]),
        (
            [account_command(MOVE, None), local_command("true")],
            [("In the sandbox, run: mv ~/bin/x ~/bin/x.mine, then:", False), ("true", True)],
        ),
        ([advice("Ask."), local_command("a"), advice("Look.")], [("Ask, then:", False), ("a", True), ("Look.", False)]),
    ],
)
def test_a_fix_in_words(fix: Fix, parts: list[tuple[str, bool]]) -> None:
    assert [tuple(part) for part in describe_fix(fix)] == parts
    assert render_in_one_line(fix) == " ".join(text for text, _is_command in parts)


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1), min_size=1))
def test_what_is_pasted_arrives_word_by_word(words: list[str]) -> None:
    (part,) = describe_fix([local_command(*words)])
    assert part.is_command
    assert shlex.split(part.text) == words == local_words(local_command(*words))


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("word", ["~/x", "~/.netrc~", "~root", "~", "a b", "$(id)", "~/$(id)", "'", "~/a b"])
def test_on_the_account_a_home_is_the_home_and_all_else_is_a_word(shell: str, word: str, tmp_path: Path) -> None:
    command = f"printf %s {quote_for_account([word])}"
    seen = subprocess.run([shell, "-c", command], env={"HOME": str(tmp_path)}, capture_output=True, check=True).stdout
    in_home = word in ("~/x", "~/.netrc~")
    assert seen.decode() == (f"{tmp_path}{word[1:]}" if in_home else word)
