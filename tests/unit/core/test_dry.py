# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dry run sees what its own changes would leave."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from account_scene import Folder, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.dry_run import DryRunHost
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
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


def test_nothing_is_created_below_a_file_that_would_be_written_or_a_folder_that_would_be_removed(
    tmp_path: Path,
) -> None:
    (tmp_path / "gone").mkdir()
    dry = DryRunHost(Host(Account(str(tmp_path), "/bin/sh", {}), b"key"))
    dry.remove(f"{tmp_path}/gone")
    dry.write(f"{tmp_path}/file", None, b"", 0o600)
    for name in ("gone", "file"):
        with pytest.raises(AccountError, match=f"^~/{name} does not exist$"):
            dry.make_link(f"{tmp_path}/{name}/link", "target")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a folder of another user")
@pytest.mark.parametrize(
    "resource",
    [
        {"kind": "storage_link", "path": "/shared/it", "target": "/work"},
        {"kind": "own_file", "path": "/shared/it", "content": "x\n"},
        {"kind": "path_script", "path": "/shared/new/it", "content": "#!/bin/sh\n"},
        {"kind": "directory", "path": "/shared/new", "root": "/work"},
        {"kind": "directory", "path": "/shared/new", "root": "/shared"},
        {"kind": "directory", "path": "/shared/own", "root": "/shared", "state": "absent"},
    ],
)
def test_in_a_folder_of_another_user_a_run_does_what_the_dry_run_says(resource: dict[str, Any], scene: Scene) -> None:
    scene.make({"/work": Folder(), "/shared": Folder(0o777), "/shared/own": Folder()})
    os.chown(scene.at("/shared"), 4321, 4321)
    (taken,) = scene.life(resource)
    if resource.get("root") == "/shared":
        assert taken["status"] in ("missing", "extra")
    else:
        assert taken["reason"] == "/shared belongs to another user, who could replace its content: use another folder"
