# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which names of a probe are accounts of the accounts file."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.accounts import CommandError
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.probe import prepare


@pytest.mark.parametrize("names", [["ada@dfki,bob@dfki"], ["ada@dfki", "!bob@dfki"], ["*@dfki"], ["dfki", "ada@dfki"]])
def test_listed_accounts_are_probed_with_the_accounts_file(names: list[str], tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text("accounts: {ada@dfki: , bob@dfki: }\n", encoding="utf-8")
    options = Namespace(names=list(names), inventory=[str(file)], given={})
    prepare(options)
    assert (options.names, options.inventory) == (names, [str(file)])


def test_an_unlisted_account_in_a_list_is_named(tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text("accounts: {ada@dfki: }\n", encoding="utf-8")
    with pytest.raises(
        CommandError, match=r"^eve@dfki is not in the accounts file\. Probe this account in a separate run"
    ):
        prepare(Namespace(names=["ada@dfki,eve@dfki"], inventory=[str(file)], given={}))


def test_a_state_folder_that_cannot_be_written_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=r"probe/attic"):
        prepare(Namespace(names=["ada@login.attic.example"], inventory=[], given={}))
