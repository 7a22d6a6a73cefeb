# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dry run sees what its own changes would leave."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.dry_run import DryRunHost
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host


def test_what_lay_in_a_folder_goes_with_it_and_what_is_made_anew_is_there(tmp_path: Path) -> None:
    (tmp_path / "conda/etc").mkdir(parents=True)
    (tmp_path / "conda/etc/condarc").write_text("mine")
    dry = DryRunHost(Host(Account(str(tmp_path), "/bin/sh", {}), b"key"))
    folder = f"{tmp_path}/conda"
    dry.remove_folder(folder)
    assert dry.entry(f"{folder}/etc/condarc") is None
    assert dry.names(folder) == []
    dry.make_folders(f"{folder}/etc", 0o755)
    assert dry.names(folder) == ["etc"]
    assert dry.names(f"{folder}/etc") == []
    assert (tmp_path / "conda/etc/condarc").read_text() == "mine"


def test_a_link_that_would_be_made_shows_the_names_behind_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/old").write_text("")
    dry = DryRunHost(Host(Account(str(tmp_path), "/bin/sh", {}), b"key"))
    dry.make_link(f"{tmp_path}/work", f"{tmp_path}/data")
    dry.write(f"{tmp_path}/work/new", None, b"", 0o600)
    assert dry.names(f"{tmp_path}/work") == ["new", "old"]
