# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which accounts have a name, and what becomes of those of other accounts files and of accounts that are gone."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import run, texts


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that the system's user database names."""
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    mine = list(pwd.getpwuid(os.getuid()))
    mine[5] = str(made)
    monkeypatch.setattr(pwd, "getpwuid", lambda _number: pwd.struct_passwd(mine))
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return made


def inventory(file: Path, *entries: str) -> dict[str, Any]:
    """Ansible's variables for an accounts file with these entries."""
    listed = "".join(f"  {one}\n" for one in entries)
    file.write_text(f"plugin: hpc.onboard.accounts\naccounts:\n{listed}")
    made = build_hosts(AccountsFile.parse(file, file.read_text()))
    known = {one.name: {**one.variables, "inventory_file": str(file)} for one in made}
    return {"groups": {"accounts": list(known)}, "hostvars": known, "ansible_play_hosts": list(known)}


def named(variables: dict[str, Any], state: str | None = None) -> dict[str, str]:
    """Account -> name, of a run that writes."""
    found = run.update_names(variables, variables.get, state, False)
    assert not found["failed"], found["msg"]
    return {one["account"]: one["name"] for one in found["names"]}


def sections(home: Path) -> dict[str, texts.NameSection]:
    file = home / ".ssh/hpc.onboard.conf"
    return texts.read_sections(file.read_text()) if file.exists() else {}


def test_accounts_of_another_file_stay_and_their_names_are_taken(home: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.yml", tmp_path / "é b.yml"
    assert named(inventory(first, "ada@lrz: {}", "ada@narval: {}")) == {"ada@lrz": "lrz", "ada@narval": "narval"}
    assert named(inventory(second, "bob@lrz: {}")) == {"bob@lrz": "bob-lrz"}
    assert set(sections(home)) == {"ada@lrz", "ada@narval", "bob@lrz"}
    assert named(inventory(first, "ada@lrz: {}")) == {"ada@lrz": "lrz"}
    assert set(sections(home)) == {"ada@lrz", "bob@lrz"}, "what its own file holds no more is gone"
    first.unlink()
    assert named(inventory(second, "bob@lrz: {}")) == {"bob@lrz": "lrz"}
    assert set(sections(home)) == {"bob@lrz"}
    assert named(inventory(second, "eve@lrz: {}")) == {"eve@lrz": "lrz"}
    assert set(sections(home)) == {"eve@lrz"}
    assert named(inventory(second, "eve@lrz: {}"), "absent") == {}
    assert not (home / ".ssh").exists()


def test_sandboxes_have_no_name_and_alone_they_are_an_error(home: Path, tmp_path: Path) -> None:
    boxed = "p@wilson: {project: p, sandbox: true}"
    with pytest.raises(AccountError, match="no account in the inventory uses ssh"):
        named(inventory(tmp_path / "a.yml", boxed))
    assert named(inventory(tmp_path / "a.yml", boxed, "q@wilson: {project: p}")) == {"q@wilson": "wilson"}


def test_an_account_that_ssh_would_not_take_costs_itself_alone(home: Path, tmp_path: Path) -> None:
    bad = "bob@narval: {vars: {ansible_ssh_extra_args: -o Ciphers=none}}"
    variables = inventory(tmp_path / "a.yml", "ada@lrz: {}", bad)
    found = run.update_names(variables, variables.get, None, False)
    assert [one["name"] for one in found["names"]] == ["lrz", ""]
    assert "ssh refuses" in found["names"][1]["text"]
    assert set(sections(home)) == {"ada@lrz"}


def test_a_name_that_leads_elsewhere_is_said(home: Path, tmp_path: Path) -> None:
    (home / ".ssh").mkdir(mode=0o700)
    (home / ".ssh/config").write_text("Host *\n    User root2\n")
    (home / ".ssh/config").chmod(0o600)
    variables = inventory(tmp_path / "a.yml", "ada@lrz: {}")
    (one,) = run.update_names(variables, variables.get, None, True)["names"]
    assert "connects to root2@login.ai.lrz.de, not to ada@login.ai.lrz.de" in one["text"]
    (home / ".ssh/config").write_text("Hosts *\n")
    with pytest.raises(AccountError, match="Bad configuration option"):
        run.update_names(variables, variables.get, None, True)


@pytest.mark.parametrize(
    "given",
    [
        {"offboard_only": "undeclared"},
        {"offboard_capabilities": ["conda"]},
        {"ansible_run_tags": ["conda"]},
        {"ansible_skip_tags": ["conda"]},
    ],
)
def test_a_name_goes_with_the_whole_account_alone(home: Path, tmp_path: Path, given: dict[str, Any]) -> None:
    variables = inventory(tmp_path / "a.yml", "ada@lrz: {}", "ada@narval: {}")
    named(variables)
    part = {**variables, **given}
    assert run.remove_names(part, part.get, False) == run.DONE
    whole = {**variables, "ansible_run_tags": ["all"], "ansible_skip_tags": [], "ansible_play_hosts": ["ada@lrz"]}
    assert run.remove_names(whole, whole.get, True)["changed"]
    assert set(sections(home)) == {"ada@lrz", "ada@narval"}, "only previewed"
    assert run.remove_names(whole, whole.get, False)["changed"]
    assert set(sections(home)) == {"ada@narval"}


def test_a_setting_that_is_misspelt_is_one_error(home: Path, tmp_path: Path) -> None:
    variables = {**inventory(tmp_path / "a.yml", "ada@lrz: {}"), "ssh_config_sur": "true", "ssh_key": "mine"}
    with pytest.raises(AccountError, match="ssh_config_sure"):
        run.update_names(variables, variables.get, None, True)


def test_an_entry_that_ssh_refuses_is_not_said_to_be_in_a_temporary_file(home: Path) -> None:
    entry = '"ada@dfki": {vars: {ansible_ssh_common_args: "-o Ciphers=no-such-cipher"}}'
    found = run.update_names(variables := inventory(home / "a.yml", entry), variables.get, None, True)
    (row,) = found["names"]
    assert row["text"].startswith("has no entry: ssh refuses the settings: ~/.ssh/hpc.onboard.conf")


def test_another_home_than_the_one_of_ssh_is_named(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(AccountError, match=f"HOME is {tmp_path}, but ssh reads the settings in {home}"):
        run.update_names(variables := inventory(home / "a.yml", '"ada@dfki":'), variables.get, None, True)
