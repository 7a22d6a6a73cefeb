# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand done for a user id without a name, as in containers, and for accounts files with invalid steps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.accounts import CommandError
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.main import run
from ansible_collections.hpc.onboard.plugins.plugin_utils._status import done

from tests.unit.forked import child


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become a user without a name")
def test_a_user_without_a_name_is_named_by_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)

    def look() -> None:
        os.setuid(54321)
        assert done._find_user() == "54321"

    assert os.waitpid(child(look), 0)[1] == 0


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words that start hpc-onboard, which status sets for the commands that it prints."""
    monkeypatch.setenv("HPC_ONBOARD_COMMAND", "hpc-onboard")


def accounts_file(folder: Path, step: str) -> str:
    """The path of an accounts file with this own step."""
    file = folder / "accounts.yml"
    file.write_text(
        f"plugin: hpc.onboard.accounts\naccounts:\n  ada@wilson:\n    project: x\n    steps: {{tou: {{{step}}}}}\n"
    )
    return str(file)


@pytest.mark.parametrize("due", ["soon", "2026-02-30", "null", "20261230"])
def test_a_step_is_not_done_for_a_day_that_does_not_exist(due: str, tmp_path: Path, state: Path) -> None:
    file = accounts_file(tmp_path, f"text: sign, due: {due}")
    with pytest.raises(CommandError, match=r"the step tou of ada@wilson: .* is not a valid date"):
        run(["done", "ada@wilson", "tou", "-i", file])
    assert not state.exists()
    assert run(["status", "-i", file]) == 0


@pytest.mark.parametrize("number", ["[1]", "x", "{}", "1e3", "null", "999999999"])
def test_the_status_survives_an_invalid_number_of_days(number: str, tmp_path: Path, state: Path) -> None:
    file = accounts_file(tmp_path, f"text: sign, every_days: {number}")
    assert run(["done", "ada@wilson", "tou", "-i", file]) == 0
    assert run(["status", "-i", file]) == 0
