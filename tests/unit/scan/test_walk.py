# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one walk: in which order it goes, where it ends, and that it says so."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from account_scene import HOME, KEY, Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._scan.walk import Limits, Walk


@pytest.fixture
def tree(scene: Scene) -> Scene:
    scene.make({f"~/{path}": Folder() for path in ("a", "a/b", "a/b/c", "d", "d/e")})
    scene.make({"~/a/b/f": Plain(b"1"), "~/d/g": Plain(b"2"), "~/a/out": Link("~/d")})
    os.mkfifo(scene.at("~/a/pipe"))
    return scene


def below_home(paths: list[str]) -> list[str]:
    """The paths without the home."""
    return [path[len(HOME) + 1 :] for path in paths]


def test_near_the_top_comes_first_or_each_folder_with_all_below_it(tree: Scene) -> None:
    level = [one.folder for one in Walk(tree.host()).folders(HOME)]
    deep = [one.folder for one in Walk(tree.host()).folders(HOME, deep_first=True)]
    assert below_home(level) == ["", "a", "d", "a/b", "d/e", "a/b/c"]
    assert below_home(deep) == ["", "a", "a/b", "a/b/c", "d", "d/e"]


def test_all_kinds_of_things_are_passed_and_links_and_pipes_are_neither_files_nor_folders(tree: Scene) -> None:
    passed = [one.path for one in Walk(tree.host()).below(HOME)]
    assert below_home(passed) == ["a", "d", "a/b", "a/out", "a/pipe", "a/b/c", "a/b/f", "d/e", "d/g"]
    (listed,) = [one for one in Walk(tree.host()).folders(HOME) if one.folder == f"{HOME}/a"]
    assert (listed.files, listed.folders) == ([], ["b"])


def test_who_takes_out_a_folder_keeps_the_walk_from_it(tree: Scene) -> None:
    def walked() -> Iterator[str]:
        for listed in Walk(tree.host()).folders(HOME):
            listed.folders = [name for name in listed.folders if name != "a"]
            yield listed.folder

    assert below_home(list(walked())) == ["", "d", "d/e"]


@pytest.mark.parametrize("most", range(10))
def test_no_more_is_seen_than_may_be_and_only_what_was_cut_is_called_cut(tree: Scene, most: int) -> None:
    walk = Walk(tree.host(), Limits(entries=most))
    assert len(list(walk.below(HOME))) == min(most, 9)
    assert (walk.cut, walk.is_over()) == (("", False) if most == 9 else ("entries", True))


def test_all_trees_of_a_walk_share_what_may_be_spent(tree: Scene) -> None:
    walk = Walk(tree.host(), Limits(entries=7))
    assert (len(list(walk.below(f"{HOME}/a"))), walk.cut) == (5, "")
    assert (len(list(walk.below(f"{HOME}/d"))), walk.cut) == (2, "")
    assert (len(list(walk.below(f"{HOME}/d"))), walk.cut, walk.cut_at) == (0, "entries", f"{HOME}/d")


def test_without_time_nothing_is_seen(tree: Scene) -> None:
    walk = Walk(tree.host(), Limits(seconds=-1))
    assert (list(walk.folders(HOME)), walk.cut, walk.cut_at) == ([], "time", HOME)


def test_a_folder_that_is_not_there_is_not_said(scene: Scene) -> None:
    walk = Walk(scene.host())
    assert [one.folder for one in walk.folders(f"{HOME}/none")] == [f"{HOME}/none"]
    assert walk.skipped.sentences() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("order", ["mount -t tmpfs tmpfs {0}/a/b", "mount --bind {0}/d {0}/a/b"])
def test_another_file_system_is_not_entered_even_if_it_is_a_part_of_this_one(tree: Scene, order: str) -> None:
    home = str(tree.at(HOME))
    mounted = subprocess.run(order.format(home).split(), capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        walk = Walk(tree.host())
        assert below_home([one.folder for one in walk.folders(HOME)]) == ["", "a", "d", "d/e"]
        assert walk.skipped.sentences() == ["not checked: ~/a/b (another file system)"]
    finally:
        subprocess.run(["umount", f"{home}/a/b"], check=True)


def test_a_home_that_is_a_link_to_another_file_system_is_walked(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as real:
        (Path(real) / "a").mkdir()
        home = tmp_path / "home"
        home.symlink_to(real)
        walk = Walk(Host(Account(str(home), "/bin/sh", {}), bytes.fromhex(KEY)))
        assert [one.folder for one in walk.folders(str(home))] == [str(home), f"{home}/a"]
        assert walk.skipped.paths == []
