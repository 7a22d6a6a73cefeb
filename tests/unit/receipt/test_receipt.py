# SPDX-License-Identifier: GPL-3.0-or-later
"""What is noted on an account of what we wrote there, and what is taken out again by it."""

from __future__ import annotations

import errno
import json
import os
import time
from typing import Any

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core import files
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import reconcile
from ansible_collections.hpc.onboard.plugins.module_utils._engine import ownership
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.module_utils._engine.task import Task
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import notes as _notes
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import receipt, receipt_file
from ansible_collections.hpc.onboard.plugins.module_utils._resources.storage_link import StorageLink
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer as _answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding import (
    add_folders,
    list_forged,
    list_undeclared,
    order_removal,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS, key_of

from tests.effort import turns

pytestmark = turns(3)

AREA = {"/work": Folder(), "/work/p": Folder()}
LINK = {"kind": "storage_link", "path": "~/work", "target": "/work/p"}
CREDENTIAL = {"kind": "enroot_credential", "machine": "nvcr.io", "secret": "ngc"}
PLACE = f"{HOME}/{receipt_file.PLACE}"


def said(scene: Scene, *resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The whole answer to a plan with a receipt."""
    found = answer({**scene.plan(list(resources)), "receipt": True, **more}, KINDS)
    assert found["error"] is None
    return found


def notes(scene: Scene) -> dict[str, dict[str, Any]]:
    """What is noted on the account of what was declared."""
    return {key: note for key, note in everything(scene).items() if not note["for"]}


def noted(scene: Scene) -> dict[str, str]:
    """The notes as an answer tells them."""
    return _notes.to_state({"resources": everything(scene), "keys": {}})


def everything(scene: Scene) -> dict[str, dict[str, Any]]:
    """What is noted on the account."""
    thing = scene.tree().get(PLACE)
    return json.loads(thing.content)["resources"] if isinstance(thing, Plain) else {}


def test_what_is_made_and_what_was_there_are_noted_apart(scene: Scene) -> None:
    scene.make({**AREA, "~/work": Link("/work/p")})
    told = said(scene, LINK, CREDENTIAL)
    found = notes(scene)
    assert {note["kind"]: note["made"] for note in found.values()} == {"storage_link": False, "enroot_credential": True}
    assert all(note["state"] == "done" for note in found.values())
    again = said(scene, LINK, CREDENTIAL, work="examine")
    for one in (told, again):
        assert [outcome["evidence"].get("adopted") for outcome in one["outcomes"]] == ["equal", None]
    assert told["receipt"] == {"notes": noted(scene), "keys": {}, "problem": None}
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
    assert again["receipt"]["notes"] == noted(scene)


def test_a_thing_is_noted_before_it_is_made(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the run were killed while it makes it."""
    scene.make(AREA)
    monkeypatch.setattr(StorageLink, "apply", lambda _link, _host: os._exit(9))
    said(scene, LINK)
    assert [(note["made"], note["state"]) for note in notes(scene).values()] == [(True, "intended")]


def test_only_what_we_made_is_taken_out(scene: Scene) -> None:
    scene.make({**AREA, "~/work": Link("/work/p")})
    before = scene.tree()
    said(scene, LINK, CREDENTIAL)
    gone = [{**LINK, "state": "absent"}, {"kind": "enroot_credential", "machine": "nvcr.io", "state": "absent"}]
    told = said(scene, *gone, only_made=True)
    assert [one["status"] for one in told["outcomes"]] == ["ok", "extra"]
    assert "not removed" in told["outcomes"][0]["remarks"][0]
    left = {path: thing for path, thing in scene.tree().items() if path not in before}
    assert all(isinstance(thing, Folder) for path, thing in left.items() if path != PLACE)
    assert notes(scene) == {}, "what stays is nobody's any more"


def test_what_another_login_node_makes_meanwhile_stays_noted(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a thing is ours was decided before it was there: what is noted of it since is not this run's to drop."""
    scene.make(AREA)
    decided = ownership.decide_removals

    def and_then_another_run(task: Any) -> Any:
        monkeypatch.undo()
        found = decided(task)
        said(scene, LINK)
        return found

    monkeypatch.setattr(ownership, "decide_removals", and_then_another_run)
    told = said(scene, {**LINK, "state": "absent"}, only_made=True)
    assert [note["made"] for note in notes(scene).values()] == [True]
    assert told["receipt"]["notes"] == noted(scene)
    said(scene, {**LINK, "state": "absent"}, only_made=True)
    assert PLACE not in scene.tree()
    assert "~/work" not in scene.tree()


def test_what_another_login_node_makes_again_before_that_is_noted_stays_noted(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its note is as it was, so that run noted nothing: what is there says whose it is."""
    scene.make(AREA)
    said(scene, LINK, CREDENTIAL)
    gone = [{**LINK, "state": "absent"}, {"kind": "enroot_credential", "machine": "nvcr.io", "state": "absent"}]
    run_all = Task.run_all

    def and_then_another_run(task: Task, host: Any, loop: Any, locked: bool, final_outcomes: Any) -> Any:
        seen = run_all(task, host, loop, locked, final_outcomes)
        if locked:
            monkeypatch.undo()
            said(scene, LINK)
        return seen

    monkeypatch.setattr(Task, "run_all", and_then_another_run)
    told = said(scene, *gone, only_made=True)
    assert [(note["kind"], note["made"]) for note in notes(scene).values()] == [("storage_link", True)]
    assert told["receipt"]["notes"] == noted(scene)
    said(scene, *gone, only_made=True)
    assert "~/work" not in scene.tree()
    assert notes(scene) == {}


def test_a_folder_of_the_receipt_that_was_emptied_and_stays_goes_the_next_time(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notes went with it, so by its own name it would be nobody's."""
    scene.make(AREA)
    before = scene.tree()
    said(scene, LINK)
    real = os.rmdir

    def refused(path: Any, **named: Any) -> None:
        if str(path).endswith("..config.hpc.onboard-draft"):
            raise OSError(30, "read-only")
        real(path, **named)

    monkeypatch.setattr(os, "rmdir", refused)
    told = said(scene, {**LINK, "state": "absent"}, only_made=True)
    assert told["receipt"]["problem"]
    monkeypatch.undo()
    said(scene, {**LINK, "state": "absent"}, only_made=True)
    assert scene.tree() == before


def taken_out(scene: Scene, *resources: dict[str, Any]) -> dict[str, str]:
    """What offboarding says of these things and of the folders that were made for them."""
    plan = scene.plan([{**one, "state": "absent"} for one in resources])
    plan["resources"] = add_folders(plan["resources"], everything(scene), "")[::-1]
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
        ("script ~/a/b/run", "extra"),
        ("folder ~/a/b", "extra"),
        ("folder ~/a", "ok"),
        ("credentials ~/.config/enroot/.credentials: nvcr.io", "extra"),
        ("folder ~/.config/enroot", "extra"),
    ]
    assert set(everything(scene)) == {"directory folder ~/.config", "directory folder ~/a"}
    scene.at("~/a/mine").unlink()
    assert taken_out(scene) == {"folder ~/a": "extra"}
    assert scene.tree() == before


def test_a_folder_goes_right_after_what_it_was_made_for_and_keys_go_before_all() -> None:
    script = {"kind": "path_script", "capability": "", "options": {"path": "~/a/b/run", "content": "#!/bin/sh\n"}}
    credential = {"kind": "enroot_credential", "capability": "", "options": {"machine": "nvcr.io", "state": "absent"}}
    made = {"~/a": key_of(script), "~/a/b": key_of(script), "~/c": key_of(credential), "~/d": "a thing of old"}
    known = {
        _notes.folder_key(path): {
            **{"kind": "directory", "capability": "", "options": {"path": path}, "for": what, "clusters": []}
        }
        for path, what in made.items()
    }
    hostile = {"directory folder ~/e": {"kind": "directory", "capability": 3, "options": [], "for": "script"}}
    entries = order_removal(add_folders([credential, script], {**known, **hostile}, ""))
    paths = [entry["options"].get("path") for entry in entries]
    assert paths == [None, "~/a/b/run", "~/a/b", "~/a", "~/c", "~/d"]
    assert list_undeclared([], {**known, **hostile}, "") == []


@pytest.mark.parametrize("kind", ["path_script", "own_file"])
def test_a_note_that_claims_a_start_up_file_is_forged_unless_the_user_may_have_asked_for_it(kind: str) -> None:
    entry = {"kind": kind, "capability": "", "options": {"path": "~/.bashrc", "content": "#!/bin/sh\n"}}
    notes = {key_of(entry): {**entry, "for": "", "clusters": ["lrz"]}}
    forged = kind == "path_script"
    assert list_forged(notes) == ([key_of(entry)] if forged else [])
    assert bool(list_undeclared([], notes, "lrz")) != forged


@pytest.mark.parametrize(
    "path",
    ["/home/u/.bashrc", "$HOME/.bashrc", "~/.bashrc/", "~//.bashrc", "~/./.bashrc", "~/a/../.bashrc",
     "/home/u/.config/fish/config.fish"],
)  # fmt: skip
def test_a_note_that_claims_a_start_up_file_by_another_path_is_forged(path: str) -> None:
    options = {"path": path, "content": "#!/bin/sh\n"}
    entry = {"kind": "path_script", "capability": "", "options": options, "for": "", "clusters": ["lrz"]}
    key = f"path_script script {path}"
    assert list_forged({key: entry}) == [key]
    assert list_undeclared([], {key: entry}, "lrz") == []


def test_a_folder_that_was_there_stays(scene: Scene) -> None:
    scene.make({"~/a": Folder(), "~/.config": Folder()})
    before = scene.tree()
    script = {"kind": "path_script", "path": "~/a/b/run", "content": "#!/bin/sh\n"}
    said(scene, script)
    taken_out(scene, script)
    assert scene.tree() == before


@pytest.mark.parametrize("moved", ["~/.config", "~/.config/hpc.onboard"])
def test_a_folder_that_the_user_has_replaced_by_a_link_stays(moved: str, scene: Scene) -> None:
    """Dotfiles are often kept in a repository."""
    scene.make(AREA)
    said(scene, LINK)
    scene.at(moved).rename(scene.at("~/dotfiles"))
    scene.make({moved: Link("~/dotfiles")})
    for _run in range(2):
        assert said(scene, {**LINK, "state": "absent"}, only_made=True)["receipt"]["problem"] is None
        assert scene.tree()[scene.whole(moved)] == Link(scene.whole("~/dotfiles"))
    assert [path for path, thing in scene.tree().items() if isinstance(thing, Plain)] == []


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


NEWER = b'{"schema": "hpc.onboard/receipt/2.0", "resources": []}'
NOTE: dict[str, Any] = {
    "kind": "storage_link", "capability": "storage_links", "identity": "link ~/work", "state": "done", "for": "",
    "made": True, "options": {}, "hashes": {}, "keyed": {}, "clusters": [],
}  # fmt: skip
MARK = {"sequence": 1, "rotation": "r", "machine": "m", "controller": "c", "when": "w"}


def forged(note: object = NOTE, mark: object = MARK, **more: object) -> bytes:
    """A receipt with a note of ~/work and a mark, as anybody could write it."""
    whole = {"resources": {"storage_link link ~/work": note}, "keys": {"ngc": mark}}
    return json.dumps({"schema": "hpc.onboard/receipt/1.0", **whole, **more}).encode()


def nested(levels: int) -> object:
    """Lists in lists."""
    found: list[Any] = []
    for _level in range(levels):
        found = [found]
    return found


DAMAGED = [b"\xff\xfe", b"{", forged({}), b"[" * 10**5, NEWER]  # each kind of error
FORGED = [b"", b"[]", b'{"resources": 3}', b'{"resources": {"a": 1}}', b'{"resources": {}}']
FORGED += [forged({name: value for name, value in NOTE.items() if name != one}) for one in NOTE if one != "state"]
FORGED += [forged({**NOTE, name: value}) for name in NOTE for value in (7, None, [7])]
FORGED += [forged({**NOTE, name: 7}) for name in ("found", "former", "secret")]
FORGED += [forged({**NOTE, "keyed": {"k": "x"}}), forged({**NOTE, "former": ["x"]}), forged({**NOTE, "state": "odd"})]
FORGED += [forged(mark={**MARK, name: []}) for name in MARK] + [forged(mark=one) for one in ("x", {}, 7, None)]
FORGED += [forged({**NOTE, "options": {"path": value}}) for value in (float("nan"), float("inf"), 10**30, nested(60))]
FORGED += [forged(images=nested(60)), forged(images=float("nan")), b'{"schema": 1' + b"0" * 10**6 + b"}"]
FORGED += [b'{"resources":' * 10**5, forged(resources=[]), forged(keys=[])]


def test_a_receipt_of_our_form_is_read() -> None:
    assert receipt.parse_receipt(forged().decode())["resources"] == {"storage_link link ~/work": NOTE}


@pytest.mark.parametrize("content", FORGED, ids=range(len(FORGED)))
def test_what_has_not_the_form_that_we_write_is_damaged(content: bytes) -> None:
    begun = time.monotonic()
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError, RecursionError)):
        receipt.parse_receipt(content.decode())
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
@pytest.mark.parametrize("work", ["reconcile", "preview", "examine"])
def test_beside_a_receipt_that_cannot_be_read_nothing_is_made_and_all_is_looked_at(
    scene: Scene, content: bytes, work: str
) -> None:
    scene.make({**AREA, **{path: Folder() for path in ("~/.config", "~/.config/hpc.onboard")}, PLACE: Plain(content)})
    scene.make({"~/other": Link("/work")})
    before = scene.footprints()
    told = said(scene, LINK, {**LINK, "path": "~/other", "target": "/work"}, work=work)
    assert [one["status"] for one in told["outcomes"]] == ["missing" if work == "examine" else "blocked", "ok"]
    assert "newer hpc-onboard" in told["receipt"]["problem"] or "is damaged" in told["receipt"]["problem"]
    assert scene.footprints() == before
    if work != "examine":
        assert told["outcomes"][0]["reason"] == "waits for: receipt ~/.config/hpc.onboard/receipt.json"


@turns(3)
@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_by_a_receipt_that_cannot_be_read_nothing_is_taken_out(scene: Scene, content: bytes) -> None:
    scene.make(AREA)
    said(scene, LINK)
    scene.at(PLACE).write_bytes(content)
    before = scene.tree()
    told = said(scene, {**LINK, "state": "absent"}, only_made=True)
    assert told["outcomes"][0]["status"] == "blocked"
    assert told["receipt"]["problem"]
    assert scene.tree() == before


def test_a_newer_receipt_says_what_to_do(scene: Scene) -> None:
    scene.make({**{path: Folder() for path in ("~/.config", "~/.config/hpc.onboard")}, PLACE: Plain(NEWER)})
    assert said(scene, LINK, work="examine")["receipt"]["problem"] == (
        "the receipt on this account was written by a newer hpc-onboard (receipt 2.0; this version reads 1.0)."
        " Upgrade this one: run 'git pull' and 'pip install .' in its clone"
        " (or, for a file from before the first release, use commit 90de12b)"
    )


@pytest.mark.parametrize("work", ["reconcile", "preview"])
def test_where_it_cannot_be_noted_nothing_is_made_and_that_is_said(scene: Scene, work: str) -> None:
    scene.make({**AREA, "~/.config": Plain(b"a file")})
    told = said(scene, LINK, work=work)
    assert told["outcomes"][0]["status"] == "blocked"
    assert (
        told["receipt"]["problem"]
        == "~/.config is not a folder, but must be one: rename or move it, then run hpc-onboard again"
    )
    assert f"{HOME}/work" not in scene.tree()


def test_no_receipt_is_written_or_read_that_would_not_fit_into_an_answer(scene: Scene) -> None:
    scene.make(AREA)
    large = receipt.Receipt({"link ~/work": {**NOTE, "options": {"path": "x" * receipt.LARGEST}}}, "lrz")
    with pytest.raises(AccountError, match="would exceed 1 MiB; declare fewer resources"):
        reconcile(large, scene.host())
    assert PLACE not in scene.tree()
    said(scene, LINK)
    scene.at(PLACE).write_bytes(forged(padding="x" * receipt.LARGEST))
    told = said(scene, LINK, work="examine")
    assert "is larger than 1 MiB, so hpc-onboard did not write it" in told["receipt"]["problem"]
    whole = forged({**NOTE, "options": {"content": "\U0001f600" * (receipt.LARGEST // 5)}})  # the most for its size
    scene.at(PLACE).write_text(json.dumps(json.loads(whole), ensure_ascii=False), encoding="utf-8")
    assert len(json.dumps(said(scene, LINK, work="examine"))) < _answer.LARGEST


def test_a_link_that_we_made_is_turned_and_one_of_the_users_is_not(scene: Scene) -> None:
    scene.make({**AREA, "/work/q": Folder()})
    for target in ("/work/p", "/work/q"):
        assert said(scene, {**LINK, "target": target})["receipt"]["problem"] is None
        assert scene.tree()[f"{HOME}/work"] == Link(target)
    scene.at("~/work").unlink()
    scene.make({"/other": Folder(), "~/work": Link("/other")})
    outcome = said(scene, LINK)["outcomes"][0]
    assert (outcome["status"], outcome["evidence"]) == ("blocked", {"theirs": True})
    assert scene.tree()[f"{HOME}/work"] == Link("/other")


# Clusters that share a home


SCRIPT = {"kind": "path_script", "path": "~/a/b/run", "content": "#!/bin/sh\n"}


def test_what_two_clusters_ask_for_stays_until_both_have_gone(scene: Scene) -> None:
    scene.make(AREA)
    before = scene.tree()
    said(scene, LINK, SCRIPT, cluster="lrz")
    said(scene, LINK, SCRIPT, cluster="cool_muc")
    assert {tuple(note["clusters"]) for note in notes(scene).values()} == {("cool_muc", "lrz")}
    assert leave(scene, "lrz", LINK, SCRIPT) == {"ok"}
    assert f"{HOME}/a/b/run" in scene.tree()
    assert {tuple(note["clusters"]) for note in notes(scene).values()} == {("cool_muc",)}
    assert leave(scene, "cool_muc", LINK, SCRIPT) == {"extra"}
    assert scene.tree() == before


def leave(scene: Scene, cluster: str, *resources: dict[str, Any]) -> set[str]:
    """Offboard a cluster; the statuses of all that was asked for and noted for it."""
    plan = scene.plan([{**one, "state": "absent"} for one in resources])
    noted = everything(scene)
    plan["resources"] = add_folders(
        [*plan["resources"], *list_undeclared(plan["resources"], noted, cluster)], noted, cluster
    )
    plan["resources"].reverse()
    told = answer({**plan, "receipt": True, "only_made": True, "cluster": cluster}, KINDS)
    assert told["error"] is None
    return {one["status"] for one in told["outcomes"]}


def test_the_other_clusters_things_are_no_orphans_and_stay(scene: Scene) -> None:
    scene.make(AREA)
    said(scene, LINK, cluster="lrz")
    alone = scene.tree()
    said(scene, SCRIPT, cluster="cool_muc")
    assert list_undeclared([], everything(scene), "lrz") == [
        {
            "kind": "storage_link",
            "capability": "test",
            "options": {**notes(scene)["storage_link link ~/work"]["options"], "state": "absent"},
        }
    ]
    assert leave(scene, "cool_muc", SCRIPT) == {"extra"}
    assert {path: thing for path, thing in scene.tree().items() if path != PLACE} == {
        path: thing for path, thing in alone.items() if path != PLACE
    }
    assert leave(scene, "lrz", LINK) == {"extra"}
    assert f"{HOME}/.config" not in scene.tree()


def test_what_was_noted_before_clusters_were_is_everybodys_until_the_home_is_known_to_be_shared(scene: Scene) -> None:
    scene.make(AREA)
    said(scene, LINK)
    assert len(list_undeclared([], everything(scene), "lrz")) == 1
    said(scene, SCRIPT, cluster="cool_muc")
    assert list_undeclared([], everything(scene), "lrz") == []
    said(scene, LINK, cluster="lrz")
    assert len(list_undeclared([], everything(scene), "lrz")) == 1


def test_two_clusters_and_two_machines_do_not_write_over_each_other(scene: Scene) -> None:
    """Each has a key of its own for fingerprints; none has something to do when the others were there."""
    sides: list[dict[str, Any]] = [
        {"cluster": name, "fingerprint_key": digits * 32}
        for name, digits in (("lrz", "11"), ("cool_muc", "22"), ("lrz", "33"))
    ]
    for side in sides:
        said(scene, CREDENTIAL, **side)
    before = scene.footprints()
    for side in sides:
        said(scene, CREDENTIAL, **side)
    assert scene.footprints() == before
    (note,) = notes(scene).values()
    hashes = [one["password"] for one in note["keyed"].values()]
    assert len(set(hashes)) == 3
    assert "password" not in note["hashes"]


def test_when_a_key_is_replaced_what_others_noted_of_the_old_one_goes(scene: Scene) -> None:
    said(scene, CREDENTIAL, fingerprint_key="11" * 32)
    said(scene, CREDENTIAL, fingerprint_key="22" * 32)
    said(scene, {**CREDENTIAL, "secret": "other"}, fingerprint_key="22" * 32)
    (note,) = notes(scene).values()
    assert list(note["keyed"]) == [_notes.fingerprint_key_id("22" * 32)]


# Which rotation installed a key


def test_a_look_notes_nothing_and_tells_what_is_noted(scene: Scene) -> None:
    scene.make(AREA)
    said(scene, LINK)
    before = scene.footprints()
    told = said(scene, {**LINK, "target": "/work"}, work="examine")
    assert scene.footprints() == before
    assert told["receipt"]["notes"] == noted(scene)
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
        "status": "extra",
        "before": {"conda": "x"},
        "after": {},
        "progress": None,
        "folders": [],
    }
    assert _notes.make_notes_of_run([(entry, document)], "", "", True) == {"conda_install conda /c": None}
    under_way = {**document, "progress": {"step": "removing"}}
    assert _notes.make_notes_of_run([(entry, under_way)], "", "", True) == {}


DATA = {"kind": "directory", "path": "/work/p/rosa"}
TO_DATA = {"kind": "storage_link", "path": "~/data", "target": "/work/p/rosa"}


def refuse_drafts(error: int) -> Any:
    """Return a function in place of write_draft(), which raises this error."""

    def refuse(*_arguments: Any) -> None:
        raise OSError(error, "")

    return refuse


def test_in_a_read_only_home_no_link_blames_the_site(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.make(AREA)
    usual = os.access
    home = str(scene.at(HOME))

    def access(path: str, mode: int) -> bool:
        """Return False for the home directory and below."""
        return usual(path, mode) and not os.path.realpath(path).startswith(home)

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(files, "write_draft", refuse_drafts(errno.EROFS))
    found = said(scene, DATA, TO_DATA)
    assert "(EROFS): the file system is mounted read-only" in found["receipt"]["problem"]
    link = found["outcomes"][1]
    assert link["status"] in ("blocked", "failed")
    assert "/work/p/rosa does not exist" not in link["reason"]
    assert not scene.at("/work/p/rosa").exists()
