# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A link to a storage area: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

from account_scene import Folder, Link, Plain, Scene
from resource_tables import AREA, Case, judge, table

LINK = {"path": "~/work", "target": "/work/p"}
INSIDE = {"/work/p/x": Folder()}
GONE = {**LINK, "state": "absent"}


@table(
    Case("a missing link is made", AREA, LINK, "missing", left={"~/work": Link("/work/p")}),
    Case("a link is left alone", {**AREA, "~/work": Link("/work/p")}, LINK, "ok"),
    Case(
        "a link of the user's elsewhere is kept",
        {**AREA, "/other": Folder(), "~/work": Link("/other")},
        LINK,
        "blocked",
        "a link to /other that hpc-onboard did not create: rename it (mv -n ~/work ~/work.mine)",
    ),
    Case("a link of the user's into the area serves", {**AREA, **INSIDE, "~/work": Link("/work/p/x")}, LINK, "ok"),
    Case("a link of the user's to a folder above the area serves", {**AREA, "~/work": Link("/work")}, LINK, "ok"),
    Case("a relative link of the user's serves", {**AREA, "~/work": Link("../../work/p")}, LINK, "ok"),
    Case(
        "a link above the home does not",
        {**AREA, "~/work": Link("/")},
        LINK,
        "blocked",
        "a link to / that hpc-onboard did not create",
    ),
    Case(
        "a link beside the area does not", {**AREA, "/work/pq": Folder(), "~/work": Link("/work/pq")}, LINK, "blocked"
    ),
    Case(
        "a link to a file of it does not",
        {**AREA, "/work/p/f": Plain(b""), "~/work": Link("/work/p/f")},
        LINK,
        "blocked",
    ),
    Case(
        "a link to nothing in it does not",
        {**AREA, "~/work": Link("/work/p/x")},
        LINK,
        "blocked",
        "that hpc-onboard did not create",
    ),
    Case(
        "a dangling link of the user's elsewhere is kept",
        {**AREA, "~/work": Link("/x")},
        LINK,
        "blocked",
        "a link to /x that hpc-onboard did not create",
    ),
    Case(
        "a loop of the user's is kept",
        {**AREA, "~/work": Link("work")},
        LINK,
        "blocked",
        "a link to work that hpc-onboard did not create",
    ),
    Case("a real folder in the way is kept", {**AREA, "~/work": Folder()}, LINK, "blocked", "is a real folder"),
    Case(
        "a full folder in the way is kept",
        {**AREA, "~/work": Folder(), "~/work/x": Plain(b"1")},
        LINK,
        "blocked",
        "mv -n ~/work",
    ),
    Case("a real file in the way is kept", {**AREA, "~/work": Plain(b"x")}, LINK, "blocked", "is a real file"),
    Case("a missing target is said", {"/work": Folder()}, LINK, "blocked", "/work/p does not exist"),
    Case("a purged target is said", {"/work": Folder(), "~/work": Link("/work/p")}, LINK, "blocked", "purged"),
    Case(
        "a target that is a file is said",
        {"/work": Folder(), "/work/p": Plain(b"")},
        LINK,
        "blocked",
        "must be a folder",
    ),
    Case(
        "the folders above a link are made",
        AREA,
        {"path": "~/a/b/work", "target": "/work/p"},
        "missing",
        left={"~/a": Folder(), "~/a/b": Folder(), "~/a/b/work": Link("/work/p")},
    ),
    Case("nothing is taken out twice", AREA, GONE, "ok"),
    Case("our link is taken out", {**AREA, "~/work": Link("/work/p")}, GONE, "extra", left={"~/work": None}),
    Case("our dangling link is taken out", {"~/work": Link("/work/p")}, GONE, "extra", left={"~/work": None}),
    Case(
        "a link of the user's stays", {**AREA, "~/work": Link("/work")}, GONE, "blocked", "not to the configured target"
    ),
    Case("a real folder is not taken out", {**AREA, "~/work": Folder()}, GONE, "blocked", "is a real folder"),
)
def test_storage_link(scene: Scene, case: Case) -> None:
    judge(scene, "storage_link", case)


def test_a_file_between_a_link_and_the_home_is_kept(scene: Scene) -> None:
    scene.make({**AREA, "~/a": Plain(b"x")})
    outcome = scene.life({"kind": "storage_link", "path": "~/a/work", "target": "/work/p"})[0]
    assert (outcome["status"], outcome["reason"].split(":")[0]) == (
        "blocked",
        "~/a is not a folder, but must be one",
    )
