# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of a container tool: what the tool can fetch again goes, with its size said, and nothing else."""

from __future__ import annotations

from account_scene import Folder, Link, Plain, Scene
from resource_tables import Case, judge, table

LAYER, BEGUN = "a1" * 32, "b2" * 32 + ".Ab3dE5gH7j"
CACHE = {"~/cache": Folder()}
ENROOT = {"path": "~/cache", "runtime": "enroot"}
APPTAINER = {"path": "~/cache", "runtime": "apptainer"}
LAYERS = {f"~/cache/{LAYER}": Plain(b"x" * 1500), f"~/cache/{BEGUN}": Plain(b"y" * 500)}
THEIRS = {"~/cache/notes.txt": Plain(b"mine"), "~/cache/.tokens.1000": Folder(0o700)}
BLOBS = {"~/cache/blob": Folder(), "~/cache/blob/blobs": Folder(), "~/cache/blob/blobs/a": Plain(b"z" * 3000)}


@table(
    Case("there is none", {}, ENROOT, "ok"),
    Case("nothing in it is the tools", {**CACHE, **THEIRS, **BLOBS}, ENROOT, "ok"),
    Case("layers of enroot go", {**CACHE, **THEIRS, **LAYERS}, ENROOT, "different", left=dict.fromkeys(LAYERS)),
    Case("folders of apptainer go", {**CACHE, **THEIRS, **BLOBS}, APPTAINER, "different", left=dict.fromkeys(BLOBS)),
    Case("layers are not apptainers", {**CACHE, **LAYERS}, APPTAINER, "ok"),
    Case("nothing is asked", {**CACHE, **LAYERS}, {**ENROOT, "state": "absent"}, "ok"),
    Case(
        "a cache that is a link stays",
        {"~/other": Folder(), f"~/other/{LAYER}": Plain(b"x"), "~/cache": Link("other")},
        ENROOT,
        "blocked",
    ),
)
def test_emptied_cache(scene: Scene, case: Case) -> None:
    judge(scene, "emptied_cache", case)


def test_how_much_there_was_and_is_left_is_said(scene: Scene) -> None:
    scene.make({**CACHE, **LAYERS})
    (outcome,) = scene.run({"kind": "emptied_cache", **ENROOT})
    assert (outcome["before"], outcome["after"]) == ({"size": "2.0 kB"}, {"size": "0 bytes"})
