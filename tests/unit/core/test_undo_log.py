# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that are taken back, on a real account and on one that only pretends."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.dry_run import DryRunHost
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._core.undo_log import UndoableHost


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """An account whose home is a real folder."""
    return Host(Account(str(tmp_path), "/bin/sh", {}), b"key")


def test_whatever_a_dry_run_does_in_its_own_way_is_left_to_it() -> None:
    """Else a change would go past the dry run, to the disk."""
    own = {name for name in vars(DryRunHost) if not name.startswith("_")}
    assert own - {*vars(UndoableHost)} == set()


def test_what_was_changed_comes_back(host: Host, tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "old").chmod(0o640)
    (tmp_path / "gone").write_bytes(b"gone")
    (tmp_path / "gone").chmod(0o600)
    kept = UndoableHost(host)
    kept.make_folders(f"{tmp_path}/a/b", 0o700)
    kept.write(f"{tmp_path}/a/b/new", None, b"new", 0o600)
    kept.write(f"{tmp_path}/old", b"old", b"changed", 0o600)
    kept.set_mode(f"{tmp_path}/old", 0o400)
    kept.remove(f"{tmp_path}/gone")
    assert kept.read(f"{tmp_path}/old") == b"changed"
    assert kept.undo() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gone", "old"]
    assert (tmp_path / "old").read_bytes() == b"old"
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "gone").read_bytes() == b"gone"


def test_a_dry_run_sees_the_changes_and_the_disk_none(host: Host, tmp_path: Path) -> None:
    kept = UndoableHost(DryRunHost(host))
    kept.make_folders(f"{tmp_path}/a/b", 0o700)
    kept.write(f"{tmp_path}/a/b/new", None, b"new", 0o600)
    assert kept.names(f"{tmp_path}/a/b") == ["new"]
    assert kept.resolved_kind(f"{tmp_path}/a/b/new") == "file"
    assert list(tmp_path.iterdir()) == []
    assert kept.undo() == []
    assert kept.resolved_kind(f"{tmp_path}/a") == "nothing"


def test_what_cannot_be_taken_back_is_not_begun(host: Host, tmp_path: Path) -> None:
    kept = UndoableHost(host)
    (tmp_path / "folder").mkdir()
    begun: list[str] = []
    for change in (
        lambda: kept.make_link(f"{tmp_path}/link", "folder"),
        lambda: kept.remove_folder(f"{tmp_path}/folder"),
        lambda: kept.start_job("/x", lambda _above: begun.append("really"), lambda _host: begun.append("pretended")),
    ):
        with pytest.raises(AccountError):
            change()
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert begun == []
