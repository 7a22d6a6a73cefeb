# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that is said again, for a person to copy."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import again, near

PLAY = "ansible-playbook onboard.yml"


def test_the_next_command_chooses_the_same_and_shows_no_variables() -> None:
    typed = {"inventory": ["/x/accounts.yml"], "tags": ["conda"], "skip_tags": [], "check": True}
    given = ["-i", "/x/accounts.yml", "-e", "token=canary", "onboard.yml", "-l", "a@b"]
    command = again(typed, given, ["onboard.yml"])
    assert command == "ansible-playbook -i /x/accounts.yml onboard.yml --check --tags conda"
    assert again({"inventory": ["/etc/x"], "tags": ["all"]}, ["onboard.yml"], ["onboard.yml"]) == PLAY


def test_a_path_below_here_is_said_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert near(f"{tmp_path}/inventory/accounts.yml") == "inventory/accounts.yml"
    assert near("/elsewhere/accounts.yml") == "/elsewhere/accounts.yml"
