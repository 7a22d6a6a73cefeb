# SPDX-License-Identifier: GPL-3.0-or-later
"""An account on a cluster whose profile a probe has just written."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.first_file import AccountsDraft

HEAD = "plugin: hpc.onboard.accounts\n"


@pytest.mark.parametrize(("head", "folder"), [("", "our-clusters"), ("profiles: [mine, more]\n", "mine")])
def test_a_new_profile_is_in_a_folder_that_the_file_lists(head: str, folder: str, tmp_path: Path) -> None:
    for name in ("mine", "more"):
        (tmp_path / name).mkdir()
    file = tmp_path / "accounts.yml"
    file.write_text(f"{HEAD}{head}accounts:\n  ada@dfki:\n")
    draft = AccountsDraft(file, exists=True)
    assert draft.own_profiles == tmp_path / folder
    draft.own_profiles.mkdir(exist_ok=True)
    (draft.own_profiles / "attic.yml").write_text("id: attic\nlogin: {host: attic.example.org}\nhome: {}\n")
    draft.add_profiles()
    text = draft.render([draft.create_account("ada@attic")])
    assert "ada@attic:" in text
    assert text.count("profiles: [") == 1
