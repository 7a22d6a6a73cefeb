# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which accounts file a command is about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.accounts import (
    AccountsSource,
    CommandError,
    find_source,
    missing_file_error,
    read_names,
    read_names_and_groups,
    read_profile_folders,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.writers import (
    find_other_writers,
    write_protection_command,
)

ACCOUNTS = "plugin: hpc.onboard.accounts\naccounts: {ada@narval: {project: def-ada}, ada@dfki: }\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a folder in it, where the person is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def put(file: Path) -> Path:
    """Write an accounts file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(ACCOUNTS, encoding="utf-8")
    return file


def test_the_first_place_wins(desk: Path) -> None:
    environment = {"HOME": str(desk)}
    assert find_source([], environment) is None
    put(desk / "here/inventory/practice.yml")
    assert find_source([], environment) == AccountsSource(("inventory/practice.yml",), False)
    own = put(desk / ".config/hpc.onboard/accounts.yml")
    assert find_source([], environment) == AccountsSource((str(own),), False)
    put(desk / "here/inventory/accounts.yml")
    assert find_source([], environment) == AccountsSource(("inventory/accounts.yml",), False)
    put(desk / "here/accounts.yml")
    assert find_source([], environment) == AccountsSource(("accounts.yml",), False)
    named = put(desk / "named.yml")
    environment["HPC_ONBOARD_ACCOUNTS"] = "~/named.yml"
    assert find_source([], environment) == AccountsSource((str(named),), True)
    assert find_source(["../named.yml", "host,"], environment) == AccountsSource(("../named.yml", "host,"), True)
    assert find_source(["~/named.yml"], {}) == AccountsSource((str(named),), True), "as --inventory=~/named.yml arrives"


def test_settings_lie_where_the_person_keeps_settings(desk: Path) -> None:
    own = put(desk / "settings/hpc.onboard/accounts.yml")
    found = find_source([], {"HOME": str(desk), "XDG_CONFIG_HOME": str(desk / "settings")})
    assert found == AccountsSource((str(own),), False)


def test_a_named_file_that_is_not_there_is_refused(desk: Path) -> None:
    put(desk / "here/accounts.yml")
    with pytest.raises(CommandError, match=r"-i nope.yml: file not found"):
        find_source(["nope.yml"], {})
    with pytest.raises(
        CommandError, match=r"nope.yml: file not found. Correct or unset the environment variable HPC_ONBOARD_ACCOUNTS"
    ):
        find_source([], {"HPC_ONBOARD_ACCOUNTS": "nope.yml"})
    with pytest.raises(CommandError, match=r"~no-such-user/a.yml: file not found"):
        find_source([], {"HPC_ONBOARD_ACCOUNTS": "~no-such-user/a.yml"})


def test_without_a_file_all_places_are_named(desk: Path) -> None:
    text = str(missing_file_error({"HOME": str(desk)}))
    assert "accounts.yml, inventory/accounts.yml, ~/.config/hpc.onboard/accounts.yml" in text
    assert "hpc-onboard init" in text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (ACCOUNTS, {"ada@narval", "ada@dfki", "narval", "dfki"}),
        ("accounts: {ada@podman-hpc: }", {"ada@podman-hpc", "podman_hpc"}),
        *((text, set[str]()) for text in ("", "accounts:", "accounts: [a]", "- a", "a")),
    ],
)
def test_what_is_written_is_known_without_a_profile(text: str, names: set[str], desk: Path) -> None:
    (desk / "a.yml").write_text(text, encoding="utf-8")
    assert read_names(desk / "a.yml") == names


def test_an_encrypted_value_hides_neither_names_nor_folders(desk: Path) -> None:
    text = "accounts: {ada@dfki: {vars: {x: !vault secret}}}\nprofiles: [own]\n"
    (desk / "a.yml").write_text(text, encoding="utf-8")
    (desk / "own").mkdir()
    assert read_names(desk / "a.yml") == {"ada@dfki", "dfki"}
    assert read_profile_folders([str(desk / "a.yml")]) == [desk / "own"]


def test_names_that_are_written_need_no_profile(desk: Path) -> None:
    put(desk / "a.yml")
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.accounts import read_names
read_names(Path("{desk}/a.yml"))
assert not [name for name in sys.modules if "onboard.plugins.plugin_utils._accounts" in name]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_accounts_clusters_and_sites_are_known(desk: Path) -> None:
    names, groups = read_names_and_groups(put(desk / "a.yml"))
    assert names == {"ada@narval", "ada@dfki"}
    assert {"narval", "alliance", "dfki"} <= groups
    (desk / "a.yml").write_text("accounts: {ada@nowhere: }", encoding="utf-8")
    with pytest.raises(Mistakes):
        read_names_and_groups(desk / "a.yml")


@pytest.mark.parametrize(
    ("mode", "folder", "is_used"),
    [(0o644, 0o755, True), (0o644, 0o1777, True), (0o644, 0o777, False), (0o666, 0o755, False), (0o1666, 0o755, False)],
)
def test_a_file_that_is_found_is_used_only_if_nobody_else_can_write_it(
    desk: Path, mode: int, folder: int, is_used: bool
) -> None:
    put(desk / "here" / "accounts.yml").chmod(mode)
    (desk / "here").chmod(folder)
    assert (find_other_writers(Path("accounts.yml")) == "") is is_used


def test_the_command_for_a_link_also_protects_its_target(desk: Path) -> None:
    file, link = put(desk / "a group" / "accounts.yml"), desk / "here" / "accounts.yml"
    link.symlink_to(file)
    file.parent.chmod(0o777)
    assert find_other_writers(link) == "other users can write to ~/a group"
    subprocess.run(write_protection_command(link), shell=True, check=True)
    assert find_other_writers(link) == ""
    assert write_protection_command(Path("a.yml")) == "chmod go-w a.yml ."
