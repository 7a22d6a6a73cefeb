# SPDX-License-Identifier: GPL-3.0-or-later
"""What Tab offers is what there is, and harmless."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.completion import list_first_words, list_names, run
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.parser import build_parser
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.subcommands import SUBCOMMANDS


def test_a_name_that_moves_a_cursor_is_not_offered(tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    entries = {"ada@wilson": {}, "y\x1b]52;c;ZXZpbA==\x07@wilson": {}, "z\u2800@wilson": {}}
    file.write_text(json.dumps({"plugin": "hpc.onboard.accounts", "accounts": entries}))
    parsed = build_parser("", "hpc-onboard").parse_args(["onboard", "-i", str(file)])
    assert list_names("", parsed) == ["ada@wilson", "wilson"]
    assert list_first_words("", parsed) == [*SUBCOMMANDS, "ada@wilson", "wilson"]


def test_the_script_is_for_the_name_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Namespace(prog="'/home/ada/my project/hpc-onboard' completion", shell="bash")) == 0
    assert capsys.readouterr().out.startswith("#compdef hpc-onboard\n")
