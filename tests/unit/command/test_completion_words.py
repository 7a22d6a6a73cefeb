# SPDX-License-Identifier: GPL-3.0-or-later
"""What Tab offers is what there is."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command import completion
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.main import ROOMS
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.verbs import VERBS

HERE = sorted(name for name, verb in VERBS.items() if verb.module)


def help_of(name: str) -> str:
    """The help of a verb that is done here."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        importlib.import_module(f"{ROOMS}.{VERBS[name].module}").main(["--help"], f"hpc-onboard {name}")
    return said.getvalue()


@pytest.mark.parametrize("name", HERE)
def test_the_options_of_a_verb_are_those_of_its_help(name: str) -> None:
    flags, valued = completion.OPTIONS.get(name, ((), ()))
    assert {*flags, *valued, "--help"} - {"-i"} == set(re.findall(r"--[a-z][a-z-]*", help_of(name)))


@pytest.mark.parametrize("name", sorted(completion.WORDS))
def test_the_words_of_a_verb_are_those_of_its_help(name: str) -> None:
    said = help_of(name).replace("|", ",")  # as some verbs name theirs
    assert ",".join(completion.WORDS[name]) in said


@pytest.mark.parametrize(
    "words", [[], ["plan"], ["rotate"], ["--tags", "conda", "audit"], ["nonsense"], *([one] for one in HERE)]
)
def test_every_verb_has_a_parser(words: list[str]) -> None:
    assert completion.parser_for(words).parse_args([]).words == []


def test_a_name_that_moves_a_cursor_is_not_offered(tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    entries = {"ada@wilson": {}, "y\x1b]52;c;ZXZpbA==\x07@wilson": {}, "z\u2800@wilson": {}}
    file.write_text(json.dumps({"plugin": "hpc.onboard.accounts", "accounts": entries}))
    parsed = completion.parser_for([]).parse_args(["-i", str(file)])
    assert completion._limit("", parsed) == ["ada@wilson", "wilson"]
