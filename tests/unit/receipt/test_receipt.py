# SPDX-License-Identifier: GPL-3.0-or-later
"""What is noted on an account of what we wrote there, and what is taken out again by it."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import receipt
from ansible_collections.hpc.onboard.plugins.module_utils._resources.storage_link import StorageLink
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding import (
    in_order,
    undeclared,
    with_folders,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS, key_of

AREA = {"/work": Folder(), "/work/p": Folder()}
LINK = {"kind": "storage_link", "path": "~/work", "target": "/work/p"}
CREDENTIAL = {"kind": "enroot_credential", "machine": "nvcr.io", "secret": "ngc"}
PLACE = f"{HOME}/{receipt.PLACE}"


def said(scene: Scene, *resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The whole answer to a plan with a receipt."""
    found = answer({**scene.plan(list(resources)), "receipt": True, **more}, KINDS)
    assert found["error"] is None
    return found


def notes(scene: Scene) -> dict[str, dict[str, Any]]:
    """What is noted on the account of what was declared."""
    return {key: note for key, note in everything(scene).items() if not note["for"]}


def everything(scene: Scene) -> dict[str, dict[str, Any]]:
    """What is noted on the account."""
    thing = scene.tree().get(PLACE)
    return json.loads(thing.content)["resources"] if isinstance(thing, Plain) else {}


def test_what_is_made_and_what_was_there_are_noted_apart(scene: Scene) -> None:
    scene.make({**AREA, "~/work": Link("/work/p")})
    told = said(scene, LINK, CREDENTIAL)
    found = notes(scene)
    assert {note["kind"]: note["made"] for note in found.values()} == {"storage_link": False, "enroot_credential": True}
    assert all(note["done"] for note in found.values())
    assert told["receipt"] == {"notes": receipt.state(everything(scene)), "problem": None}
    assert scene.tree()[PLACE].mode == 0o600  # type: ignore[union-attr]  # a plain file


def test_no_key_is_noted(scene: Scene) -> None:
    said(scene, CREDENTIAL)
    assert "key-ngc" not in json.dumps(notes(scene))
    assert next(sorted(note["hashes"]) for note in notes(scene).values())[:2] == ["folder mode", "form"]


def test_a_run_that_has_nothing_to_do_touches_nothing(scene: Scene) -> None:
    scene.make(AREA)
    said(scene, LINK, CREDENTIAL)
    before = scene.footprints()
    again = said(scene, LINK, CREDENTIAL)
    assert scene.footprints() == before
    assert again["receipt"]["notes"] == receipt.state(everything(scene))


def test_a_thing_is_noted_before_it_is_made(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the run were killed while it makes it."""
    scene.make(AREA)
    monkeypatch.setattr(StorageLink, "apply", lambda _link, _host: os._exit(9))
    said(scene, LINK)
    assert [(note["made"], note["done"]) for note in notes(scene).values()] == [(True, False)]


def test_only_what_we_made_is_taken_out(scene: Scene) -> None:
    scene.make({**AREA, "~/work": Link("/work/p")})
    before = scene.tree()
    said(scene, LINK, CREDENTIAL)
    gone = [{**LINK, "state": "absent"}, {"kind": "enroot_credential", "machine": "nvcr.io", "state": "absent"}]
    told = said(scene, *gone, only_made=True)
    assert [one["status"] for one in told["outcomes"]] == ["in_place", "unwanted"]
    assert "it stays" in told["outcomes"][0]["remarks"][0]
    left = {path: thing for path, thing in scene.tree().items() if path not in before}
    assert all(isinstance(thing, Folder) for path, thing in left.items() if path != PLACE)
    assert notes(scene) == {}, "what stays is nobody's any more"


def test_the_receipt_goes_with_the_last_thing(scene: Scene) -> None:
    scene.make(AREA)
    said(scene, LINK)
    said(scene, {**LINK, "state": "absent"}, only_made=True)
    assert PLACE not in scene.tree()
    assert f"{HOME}/.config/hpc.onboard" not in scene.tree()


def taken_out(scene: Scene, *resources: dict[str, Any]) -> dict[str, str]:
    """What offboarding says of these things and of the folders that were made for them."""
    plan = scene.plan([{**one, "state": "absent"} for one in resources])
    plan["resources"] = with_folders(plan["resources"], everything(scene))[::-1]
    told = answer({**plan, "receipt": True, "only_made": True}, KINDS)
    return {one["identity"]: one["status"] for one in told["outcomes"]}


def test_the_folders_that_were_made_for_things_go_when_they_are_empty(scene: Scene) -> None:
    before = scene.tree()
    credential = {name: value for name, value in CREDENTIAL.items() if name != "secret"}
    script = {"kind": "path_script", "path": "~/a/b/run", "content": "#!/bin/sh\n"}
    said(scene, CREDENTIAL, script)
    assert set(everything(scene)) - set(notes(scene)) == {
        *("directory folder ~/.config", "directory folder ~/.config/enroot"),
        *("directory folder ~/a", "directory folder ~/a/b"),
    }
    scene.make({"~/a/mine": Plain(b"")})
    assert list(taken_out(scene, credential, script).items()) == [
        ("script ~/a/b/run", "unwanted"),
        ("folder ~/a/b", "unwanted"),
        ("folder ~/a", "in_place"),
        ("credentials ~/.config/enroot/.credentials: nvcr.io", "unwanted"),
        ("folder ~/.config/enroot", "unwanted"),
    ]
    assert set(everything(scene)) == {"directory folder ~/.config", "directory folder ~/a"}
    scene.at("~/a/mine").unlink()
    assert taken_out(scene) == {"folder ~/a": "unwanted"}
    assert scene.tree() == before


def test_a_folder_goes_right_after_what_it_was_made_for_and_keys_go_before_all() -> None:
    script = {"kind": "path_script", "capability": "", "options": {"path": "~/a/b/run", "content": "#!/bin/sh\n"}}
    credential = {"kind": "enroot_credential", "capability": "", "options": {"machine": "nvcr.io", "state": "absent"}}
    made = {"~/a": key_of(script), "~/a/b": key_of(script), "~/c": key_of(credential), "~/d": "a thing of old"}
    noted = {
        receipt.folder_key(path): {"kind": "directory", "capability": "", "options": {"path": path}, "for": what}
        for path, what in made.items()
    }
    hostile = {"directory folder ~/e": {"kind": "directory", "capability": 3, "options": [], "for": "script"}}
    entries = in_order(with_folders([credential, script], {**noted, **hostile}))
    paths = [entry["options"].get("path") for entry in entries]
    assert paths == [None, "~/a/b/run", "~/a/b", "~/a", "~/c", "~/d"]
    assert undeclared([], {**noted, **hostile}) == []


def test_a_folder_that_was_there_stays(scene: Scene) -> None:
    scene.make({"~/a": Folder(), "~/.config": Folder()})
    before = scene.tree()
    script = {"kind": "path_script", "path": "~/a/b/run", "content": "#!/bin/sh\n"}
    said(scene, script)
    taken_out(scene, script)
    assert scene.tree() == before


def test_a_folder_that_was_made_for_a_thing_that_failed_is_ours_too(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(link: StorageLink, host: Host) -> None:
        host.make_folders(os.path.dirname(link.options["path"]), 0o755)
        raise AccountError("no")

    scene.make(AREA)
    monkeypatch.setattr(StorageLink, "apply", failed)
    said(scene, {**LINK, "path": "~/a/work"})
    assert "directory folder ~/a" in everything(scene)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"resources": 3}', b"\xff\xfe", b'{"resources": {"a": 1}}'])
def test_a_damaged_receipt_is_written_anew(scene: Scene, content: bytes) -> None:
    scene.make(
        {
            **AREA,
            "~/.config": Folder(),
            "~/.config/hpc.onboard": Folder(),
            "~/.config/hpc.onboard/receipt.json": Plain(content),
        }
    )
    said(scene, LINK)
    assert [note["kind"] for note in notes(scene).values()] == ["storage_link"]


def test_where_it_cannot_be_noted_the_work_is_done_and_that_is_said(scene: Scene) -> None:
    scene.make({**AREA, "~/.config": Plain(b"a file")})
    told = said(scene, LINK)
    assert told["outcomes"][0]["status"] == "missing"
    assert "could not be noted" in told["receipt"]["problem"]
    assert f"{HOME}/work" in scene.tree()


def test_a_look_notes_nothing_and_tells_what_is_noted(scene: Scene) -> None:
    scene.make(AREA)
    said(scene, LINK)
    before = scene.footprints()
    told = said(scene, {**LINK, "target": "/work"}, work="examine")
    assert scene.footprints() == before
    assert told["receipt"]["notes"] == receipt.state(everything(scene))
    assert told["outcomes"][0]["status"] == "different"


def test_the_controller_names_a_note_as_the_account_does(scene: Scene) -> None:
    scene.make(AREA)
    said(scene, LINK, CREDENTIAL)
    entries = [
        {"kind": one["kind"], "options": {k: v for k, v in one.items() if k != "kind"}, "capability": ""}
        for one in (LINK, CREDENTIAL)
    ]
    assert {key_of(entry) for entry in entries} == set(notes(scene))


def test_what_is_on_its_way_out_is_still_ours() -> None:
    entry = {"kind": "conda_install", "capability": "conda", "options": {"state": "absent"}}
    document = {
        "identity": "conda /c",
        "status": "unwanted",
        "before": {"conda": "x"},
        "after": {},
        "progress": None,
        "folders": [],
    }
    assert receipt.notes([(entry, document)], "", True) == {"conda_install conda /c": None}
    under_way = {**document, "progress": {"step": "removing"}}
    assert receipt.notes([(entry, under_way)], "", True) == {}
