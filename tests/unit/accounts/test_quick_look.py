# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quick look at an accounts file: what a run would see, and never an exception for a file that a run refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.quick_look import AccountSummary, list_accounts
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes


def write_accounts(folder: Path, text: str) -> Path:
    file = folder / "accounts.yml"
    file.write_text(f"plugin: hpc.onboard.accounts\n{text}")
    return file


def look(folder: Path, profile: str) -> AccountSummary:
    """Return the only account, whose cluster has this profile, in a family without manual steps."""
    (folder / "own/families").mkdir(parents=True)
    (folder / "own/families/ours.yml").write_text("format: 2\nfamily: ours\n")
    (folder / "own/mine.yml").write_text(f"id: mine\n{profile}\n")
    (account,) = list_accounts(write_accounts(folder, "profiles: [own]\naccounts: {ada@mine: }\n"))
    return account


@pytest.mark.parametrize(
    ("top", "default", "own", "is_sandbox"),
    [
        ("", "", "", False),
        ("sandbox: true", "", "", True),
        ("", "sandbox: true", "", True),
        ("sandbox: true", "sandbox: false", "", False),
        ("", "sandbox: true", "sandbox: false", False),
    ],
)
def test_an_account_is_a_sandbox_as_in_a_run(
    tmp_path: Path, top: str, default: str, own: str, is_sandbox: bool
) -> None:
    text = f"{top}\ndefaults: {{{default}}}\naccounts: {{ada@dfki: {{{own}}}}}\n"
    file = write_accounts(tmp_path, text)
    assert [account.sandbox for account in list_accounts(file)] == [is_sandbox]
    assert [account.sandbox for account in AccountsFile.parse(file, file.read_text()).accounts()] == [is_sandbox]


@pytest.mark.parametrize(
    "profile",
    [
        "human_steps: text",
        "human_steps: [text]",
        "human_steps: [{text: no id}]",
        "human_steps: [{id: no_text}]",
        "human_steps: {a: b}",
        "extends: ours\nwithout: [human_steps.vpn]",
        "extends: ours\nwithout: 5",
    ],
)
def test_invalid_steps_of_an_own_profile_are_skipped(tmp_path: Path, profile: str) -> None:
    assert look(tmp_path, profile).steps == ()


def test_a_step_of_the_family_can_be_changed_and_excluded(tmp_path: Path) -> None:
    assert look(tmp_path, "extends: ours\nhuman_steps: [{id: vpn, text: Get it.}]").steps == (
        {"id": "vpn", "text": "Get it."},
    )
    (tmp_path / "own/families/ours.yml").write_text("family: ours\nhuman_steps: [{id: vpn, text: Ask.}]\n")
    assert [step["text"] for step in list_accounts(tmp_path / "accounts.yml")[0].steps] == ["Get it."]
    (tmp_path / "own/mine.yml").write_text("id: mine\nextends: ours\nwithout: [human_steps.vpn]\n")
    assert list_accounts(tmp_path / "accounts.yml")[0].steps == ()


def test_an_impossible_name_of_a_folder_or_cluster_is_no_exception(tmp_path: Path) -> None:
    file = write_accounts(tmp_path, f"profiles: [~no-such-user/own]\naccounts: {{ada@{'x' * 300}: }}\n")
    assert [account.steps for account in list_accounts(file)] == [()]
    with pytest.raises(Mistakes, match='unknown cluster "xxx'):
        AccountsFile.parse(file, file.read_text()).accounts()
