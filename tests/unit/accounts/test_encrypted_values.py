# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An accounts file with values that ansible-vault has encrypted is valid, and can be edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Catalogue
from ansible_collections.hpc.onboard.plugins.plugin_utils._adoption.accounts_edit import add_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.accounts_text import add_entries
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.desired_account import DesiredAccount
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.ssh_world import SshTraces
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes, YamlText
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.spec_sentences import add_line

TEXT = """\
plugin: hpc.onboard.accounts
accounts:
  ada@dfki:
    conda: {version: 9}
    vars:
      token: !vault |
        $ANSIBLE_VAULT;1.1;AES256
        3132
"""


def test_an_encrypted_value_is_accepted_without_its_content() -> None:
    hosts = build_hosts(AccountsFile.parse(Path("accounts.yml"), TEXT))
    assert [host.name for host in hosts] == ["ada@dfki"]
    with pytest.raises(Mistakes, match="this value must be text, a number"):  # such as in a profile
        YamlText(Path("attic.yml"), TEXT).document()


def test_the_line_of_a_setting_is_found(tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text(TEXT, encoding="utf-8")
    assert add_line(file, "ada@dfki", "conda", "version 9", {"conda_version": 9}).endswith("accounts.yml:4)")


def test_settings_and_accounts_can_be_added(tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    edited = add_settings(file, TEXT, {"ada@dfki": {"keep": ["~/data"]}})
    assert edited.replace("    keep: [~/data]\n", "") == TEXT
    profile = Catalogue().profile("dfki")
    assert profile
    added = add_entries(file, TEXT, [DesiredAccount(profile, SshTraces(), "eve", {})])
    assert added.startswith(TEXT)
    assert "\n  eve@dfki:\n" in added
