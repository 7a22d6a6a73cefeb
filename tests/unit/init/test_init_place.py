# SPDX-License-Identifier: GPL-3.0-or-later
"""Where an accounts file may lie, and that nothing is written over."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.place import find_repository, write_file


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository that ignores one file."""
    top = tmp_path / "tree"
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    (top / ".gitignore").write_text("/mine/accounts.yml\n")
    return top


def test_no_repository_takes_it(tree: Path, tmp_path: Path) -> None:
    assert find_repository(tree / "accounts.yml") == tree
    assert find_repository(tree / "not" / "yet" / "there.yml") == tree
    assert find_repository(tree / "mine" / "accounts.yml") is None
    assert find_repository(tmp_path / "accounts.yml") is None
    (tmp_path / "link").symlink_to(tree)
    assert find_repository(tmp_path / "link" / "accounts.yml") == tree
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree" / ".git").write_text("gitdir: elsewhere\n")
    assert find_repository(tmp_path / "worktree" / "accounts.yml") == tmp_path / "worktree"


def test_an_ignored_file_that_git_keeps_all_the_same_is_one_that_it_takes(tree: Path) -> None:
    file = tree / "mine" / "accounts.yml"
    file.parent.mkdir()
    file.touch()
    subprocess.run(["git", "-C", str(tree), "add", "-f", str(file)], check=True)
    assert find_repository(file) == tree


def test_a_new_file_is_for_its_owner_alone_and_another_ones_stays(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "accounts.yml"
    write_file(file, "one", None)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("one", 0o600)
    assert file.parent.stat().st_mode & 0o777 == 0o700
    with pytest.raises(AccountError, match="another program changed "):
        write_file(file, "two", None)
    with pytest.raises(AccountError, match="another program changed "):
        write_file(file, "two", "other")
    assert file.read_text() == "one"
    file.chmod(0o640)
    write_file(file, "two", "one")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("two", 0o640)
    assert [one.name for one in file.parent.iterdir()] == ["accounts.yml"]


def test_what_is_behind_a_link_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real.yml").write_text("one")
    (tmp_path / "accounts.yml").symlink_to("real.yml")
    write_file(tmp_path / "accounts.yml", "two", "one")
    assert (tmp_path / "accounts.yml").is_symlink()
    assert (tmp_path / "real.yml").read_text() == "two"


def test_a_place_that_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AccountError, match=r"cannot be written \((ENOTDIR|EEXIST)"):
        write_file(tmp_path / "file" / "accounts.yml", "one", None)


def test_a_file_that_became_unreadable_as_text_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    file.write_bytes(b"\xff")
    with pytest.raises(AccountError, match="another program changed"):
        write_file(file, "new", "old")
    assert file.read_bytes() == b"\xff"
