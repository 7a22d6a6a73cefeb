# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of the account: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from account_scene import Folder, Link, Plain, Scene
from resource_tables import AREA, Case, judge, table

DIR = {"path": "/work/p/simone", "root": "/work/p"}


@table(
    Case(
        "a missing folder is made, and hands the group on",
        AREA,
        DIR,
        "missing",
        left={"/work/p/simone": Folder(0o2700)},
    ),
    Case(
        "every folder below the root is made",
        AREA,
        {"path": "/work/p/a/b", "root": "/work/p", "mode": "0750"},
        "missing",
        left={"/work/p/a": Folder(0o2750), "/work/p/a/b": Folder(0o2750)},
    ),
    Case(
        "a folder in the home is made with those above it",
        {},
        {"path": "~/b/c"},
        "missing",
        left={"~/b": Folder(0o700), "~/b/c": Folder(0o700)},
    ),
    Case("a file in the home is kept", {"~/b": Plain(b"x")}, {"path": "~/b/c"}, "blocked", "~/b is not a folder"),
    Case(
        "only the site makes an area", {"/work": Folder()}, {"path": "/work/p/a"}, "blocked", "only the site can create"
    ),
    Case(
        "a folder in the home behind a link to the site's area",
        {**AREA, "~/w": Link("/work/p")},
        {"path": "~/w/a/b"},
        "missing",
        left={"/work/p/a": Folder(0o2700), "/work/p/a/b": Folder(0o2700)},
    ),
    Case("a folder keeps its mode", {**AREA, "/work/p/simone": Folder(0o775)}, DIR, "ok"),
    Case("one that is meant for all is kept", {**AREA, "/work/p/simone": Folder(0o1777)}, DIR, "ok"),
    Case("an open folder is said", {**AREA, "/work/p/simone": Folder(0o777)}, DIR, "blocked", "all users can write to"),
    Case("a link to a folder is a folder", {**AREA, "~/x": Folder(), "/work/p/simone": Link("~/x")}, DIR, "ok"),
    Case("a file in the way is kept", {**AREA, "/work/p/simone": Plain(b"x")}, DIR, "blocked", "is not a folder"),
    Case("a dangling link is kept", {**AREA, "/work/p/simone": Link("/gone")}, DIR, "blocked", "is not a folder"),
    Case("a loop is kept", {**AREA, "/work/p/simone": Link("simone")}, DIR, "blocked", "is not a folder"),
    Case("the site's folder is not made", {"/work": Folder()}, DIR, "blocked", "only the site can create it"),
    Case("a root that is a file is said", {"/work": Folder(), "/work/p": Plain(b"")}, DIR, "blocked", "/work/p"),
    Case(
        "a file between is kept",
        {**AREA, "/work/p/a": Plain(b"x")},
        {"path": "/work/p/a/b", "root": "/work/p"},
        "blocked",
        "/work/p/a is not a folder",
    ),
    Case(
        "a dangling link between is kept",
        {**AREA, "/work/p/a": Link("/gone")},
        {"path": "/work/p/a/b", "root": "/work/p"},
        "blocked",
        "/work/p/a is a broken link",
    ),
    Case(
        "a folder is made behind a link",
        {**AREA, "~/w": Link("/work/p")},
        {"path": "~/w/a/b", "root": "~/w"},
        "missing",
        left={"/work/p/a": Folder(0o2700), "/work/p/a/b": Folder(0o2700)},
    ),
    Case(
        "an empty folder goes",
        {**AREA, "/work/p/simone": Folder()},
        {**DIR, "state": "absent"},
        "extra",
        left={"/work/p/simone": None},
    ),
    Case(
        "a folder with something in it stays",
        {**AREA, "~/x": Folder(), "~/x/y": Plain(b"")},
        {"path": "~/x", "state": "absent"},
        "ok",
    ),
    Case("a link to a folder stays", {**AREA, "~/x": Link("/work/p")}, {"path": "~/x", "state": "absent"}, "ok"),
    Case("no folder is none to remove", AREA, {**DIR, "state": "absent"}, "ok"),
    Case("two slashes are one", AREA, {"path": "//work//p/simone"}, "missing", left={"/work/p/simone": Folder(0o2700)}),
)
def test_directory(scene: Scene, case: Case) -> None:
    judge(scene, "directory", case)


def make_foreign(scene: Scene) -> None:
    """Make a folder of another user."""
    scene.make({"~/x": Folder()})
    if os.getuid() != 0:
        pytest.skip("only root can give a folder to another user")
    os.chown(scene.at("~/x"), 4321, 4321)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda scene: scene.make({"~/x": Folder(), "~/x/y": Folder()}), ["it is not empty"]),
        (lambda scene: scene.make({**AREA, "~/x": Link("/work/p")}), ["it is a link, not a folder"]),
        (lambda scene: scene.make({"~/x": Plain(b"")}), ["it is a file, not a folder"]),
        (make_foreign, ["it belongs to another user"]),
        (lambda scene: None, []),
    ],
)
def test_what_is_not_removed_is_noted_with_its_reason(
    make: Callable[[Scene], None], why: list[str], scene: Scene
) -> None:
    make(scene)
    (outcome,) = scene.life({"kind": "directory", "path": "~/x", "state": "absent"})
    assert (outcome["status"], outcome["remarks"]) == ("ok", [f"~/x is not removed, because {one}" for one in why])
