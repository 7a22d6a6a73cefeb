# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was there before hpc-onboard: adopted or replaced, and there to the byte after offboarding."""

from __future__ import annotations

import base64
import os
from typing import Any

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene, Tree
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.module_utils._formats.origin_mark import add_mark
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import receipt_file
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS
from test_receipt import leave, notes, said

from tests.effort import turns

pytestmark = turns(3)

AREA = {"/work": Folder(), "/work/p": Folder(), "/work/p/x": Folder()}
LINK = {"kind": "storage_link", "path": "~/work", "target": "/work/p"}
NVCR = {"kind": "enroot_credential", "path": "~/enroot/.credentials", "machine": "nvcr.io", "secret": "ngc"}
AUTHN = {**NVCR, "machine": "authn.nvidia.com"}
LINE = b"machine nvcr.io login $oauthtoken password key-ngc\n"
WANDB = {"kind": "netrc_entry", "machine": "api.wandb.ai", "secret": "wandb"}
DOCKER = {"kind": "registry_auth", "registry": "nvcr.io", "secret": "ngc"}
TOKEN = {"kind": "token_file", "secret": "hf"}
SCRIPT = {"kind": "path_script", "path": "~/bin/run", "content": "#!/bin/sh\n"}
OWN = {"kind": "own_file", "path": "~/x.txt", "content": "x\n"}
CONDA = {"kind": "conda_install", "distribution": "own", "prefix": "/work/p/c"}
CONDA_THERE: Tree = {
    **{path: Folder() for path in ("/work/p/c", *(f"/work/p/c/{one}" for one in ("conda-meta", "bin", "etc")))},
    **{path: Folder() for path in ("/work/p/c/etc/profile.d", "/work/p/c/envs", "/work/p/c/envs/demo")},
    **{f"/work/p/c/{one}": Plain(b"x") for one in ("conda-meta/history", "bin/conda", "etc/profile.d/conda.sh")},
}
CACHE = {"kind": "directory", "path": "/work/p/x"}


def docker(name: str) -> bytes:
    """Docker's file with the key under this name."""
    return b'{"auths": {"%s": {"auth": "%s"}}}\n' % (name.encode(), base64.b64encode(b"$oauthtoken:key-ngc"))


def file(path: str, content: bytes, mode: int = 0o600, above: int = 0o700) -> Tree:
    """A file in a folder of its own."""
    return {path.rpartition("/")[0]: Folder(above), path: Plain(content, mode)}


CREDENTIALS, APPTAINER = "~/enroot/.credentials", "~/.apptainer/docker-config.json"
THERE: dict[str, tuple[Tree, list[dict[str, Any]], list[str | None]]] = {
    "a link": ({"~/work": Link("/work/p")}, [LINK], ["equal"]),
    "a relative link": ({"~/work": Link("../../work/p")}, [LINK], ["equivalent"]),
    "a link into the area": ({"~/work": Link("/work/p/x")}, [LINK], ["equivalent"]),
    "a link above the area": ({"~/work": Link("/work")}, [LINK], ["equivalent"]),
    "a folder": ({}, [CACHE], ["equal"]),
    "a key": (file(CREDENTIALS, LINE), [NVCR], ["equal"]),
    "one of two machines": (file(CREDENTIALS, LINE), [NVCR, AUTHN], ["equal", None]),
    "a key with other modes": (file(CREDENTIALS, LINE, 0o644, 0o755), [NVCR], ["equal"]),
    "a key among other lines": (
        file(CREDENTIALS, b"# mine\r\nmachine x login y password z\r\n" + LINE),
        [NVCR],
        ["equal"],
    ),
    "a netrc": (
        {"~/.netrc": Plain(b"machine api.wandb.ai login user password key-wandb\n", 0o600)},
        [WANDB],
        ["equal"],
    ),
    "a token": (
        {"~/.cache": Folder(), **file("~/.cache/huggingface/token", b"key-hf", 0o644, 0o755)},
        [TOKEN],
        ["equal"],
    ),
    "docker auth": (file(APPTAINER, docker("nvcr.io")), [DOCKER], ["equal"]),
    "docker auth by URL": (file(APPTAINER, docker("https://nvcr.io")), [DOCKER], ["equivalent"]),
    "docker auth of Apptainer": (file(APPTAINER, docker("docker://nvcr.io")), [DOCKER], ["equivalent"]),
    "a script": (file("~/bin/run", add_mark("#!/bin/sh\n").encode(), 0o755, 0o755), [SCRIPT], ["equal"]),
    "a conda": (CONDA_THERE, [CONDA], ["equivalent"]),
    "a text": ({"~/x.txt": Plain(b"x\n")}, [OWN], ["equal"]),
    "a text that others cannot read": ({"~/x.txt": Plain(b"x\n", 0o600)}, [OWN], ["equivalent"]),
    "a script for its owner": (
        file("~/bin/run", add_mark("#!/bin/sh\n").encode(), 0o700, 0o755),
        [SCRIPT],
        ["equivalent"],
    ),
}


@turns(3)
@pytest.mark.parametrize("what", THERE)
def test_what_serves_is_adopted_and_stays(what: str, scene: Scene) -> None:
    found, resources, adopted = THERE[what]
    scene.make({**AREA, **found})
    before = scene.tree()
    said(scene, *resources, cluster="wilson")
    settled = said(scene, *resources, cluster="wilson")["outcomes"]
    assert [(one["status"], one["evidence"].get("adopted")) for one in settled] == [("ok", one) for one in adopted]
    assert not [one for one in settled if "obstacle" in one["evidence"]], "an audit would report it"
    assert sum(not note["made"] for note in notes(scene).values()) == len([one for one in adopted if one])
    leave(scene, "wilson", *({k: v for k, v in one.items() if k != "secret"} for one in resources))
    assert scene.tree() == before


def test_a_query_and_a_lost_receipt_adopt_nothing(scene: Scene) -> None:
    assert {kind for kind in KINDS if not KINDS[kind].IS_KEPT} == {"emptied_cache", "slurm_test_job"}
    scene.make(AREA)
    said(scene, LINK)
    scene.at(f"~/{receipt_file.PLACE}").write_text("{")
    assert [one["evidence"] for one in said(scene, LINK, work="examine")["outcomes"]] == [{}]


OTHER = b"machine nvcr.io login $oauthtoken password another-key\n"
DIFFERENT: dict[str, tuple[Tree, dict[str, Any]]] = {
    "a link": ({"/other": Folder(), "~/work": Link("/other")}, LINK),
    "a dangling relative link": ({"~/work": Link("../x")}, LINK),
    "a folder for a link": ({"~/work": Folder(0o750), "~/work/a": Plain(b"1", 0o640), "~/work/b": Link("a")}, LINK),
    "a file for a link": ({"~/work": Plain(b"\xff", 0o604)}, LINK),
    "a script": ({"~/bin": Folder(), "~/bin/run": Plain(b"#!/bin/sh\nsrun $@\n", 0o700)}, SCRIPT),
    "a link for a script": ({"~/bin": Folder(), "~/bin/run": Link("/other/run")}, SCRIPT),
    "an edited script": (
        {"~/bin": Folder(), "~/bin/run": Plain(add_mark("#!/bin/sh\n").encode() + b"#", 0o755)},
        SCRIPT,
    ),
    "a text": ({"~/x.txt": Plain(b"mine", 0o400)}, OWN),
    "a key": (file(CREDENTIALS, b"# mine\n" + OTHER, 0o640, 0o755), NVCR),
    "a docker login": (file(APPTAINER, docker("docker://nvcr.io").replace(b"a2V5", b"eHh4")), DOCKER),
}


def replaced(scene: Scene, resource: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The outcome of a run in which the user has agreed to replace this one thing."""
    plan = scene.plan([resource])
    plan["resources"][0]["replace"] = True
    keys = {"ngc": {"known": [], "mark": None, "held": ["key of mine"]}} if "secret" in resource else {}
    told = answer({**plan, "receipt": True, "cluster": "wilson", "keys": keys, **more}, KINDS)
    assert told["error"] is None
    outcome: dict[str, Any] = told["outcomes"][0]
    return {name: value for name, value in outcome.items() if name != "seconds"}


def absent(resource: dict[str, Any]) -> dict[str, Any]:
    """The resource without its key."""
    return {name: value for name, value in resource.items() if name != "secret"}


@turns(3)
@pytest.mark.parametrize("what", DIFFERENT)
def test_what_differs_is_replaced_when_agreed_and_put_back(what: str, scene: Scene) -> None:
    found, resource = DIFFERENT[what]
    scene.make({**AREA, **found})
    before = scene.tree()
    assert said(scene, resource, work="examine")["outcomes"][0]["status"] != "ok"
    preview = replaced(scene, resource, work="preview")
    assert scene.tree() == before
    taken = replaced(scene, resource)
    assert (taken["status"], taken["evidence"].get("replaces")) == ("different", True)
    assert taken == preview
    for _run in range(2):
        again = replaced(scene, resource)
        assert (again["status"], again["evidence"]) == ("ok", {})
    leave(scene, "wilson", absent(resource))
    assert scene.tree() == before


def test_the_users_token_comes_back_among_the_tokens_by_name_too(scene: Scene) -> None:
    folder, resource = "~/.cache/huggingface", {**TOKEN, "secret": "ngc"}
    scene.make({"~/.cache": Folder(0o700), **file(f"{folder}/token", b"hf_mine")})
    replaced(scene, resource)
    by_name = "[laptop]\nhf_token = %s\n"
    scene.make({f"{folder}/stored_tokens": Plain((by_name % "key-ngc").encode(), 0o600)})  # by a rotation
    leave(scene, "wilson", absent(resource))
    assert [scene.at(f"{folder}/{name}").read_text() for name in ("token", "stored_tokens")] == [
        "hf_mine",
        by_name % "hf_mine",
    ]


def test_a_replaced_key_with_an_unknown_path_does_not_stop_the_others(scene: Scene) -> None:
    path = "/work/p/.credentials"
    scene.make({**AREA, path: Plain(OTHER, 0o600)})
    scene.at("/work/p").chmod(0o700)
    resource = {**NVCR, "path": "$PROJECT/.credentials"}
    scene.environment = {"PROJECT": "/work/p"}
    said(scene, LINK, cluster="wilson")
    assert replaced(scene, resource)["evidence"]["replaces"]
    scene.environment = {}  # the site no longer sets the variable
    assert leave(scene, "wilson", absent(resource), LINK) >= {"failed", "extra"}
    assert f"{HOME}/work" not in scene.tree()
    scene.environment = {"PROJECT": "/work/p"}
    assert "failed" not in leave(scene, "wilson", absent(resource))
    assert scene.tree()[path] == Plain(OTHER, 0o600)


def test_without_the_users_word_nothing_is_moved(scene: Scene) -> None:
    for found, resource in DIFFERENT.values():
        if "secret" not in resource:
            scene.make({**AREA, **found})
            before = scene.tree()
            assert said(scene, resource)["outcomes"][0]["status"] == "blocked"
            assert scene.tree() == before
            for path in sorted((path for path in found if path not in ("~/bin", "/other")), reverse=True):
                place = scene.at(path)
                place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink()


def test_a_second_thing_in_the_place_is_not_moved_over_the_first(scene: Scene) -> None:
    scene.make({**AREA, "~/work": Plain(b"first")})
    replaced(scene, LINK)
    scene.at("~/work").unlink()
    scene.make({"~/work": Plain(b"second")})
    assert replaced(scene, LINK)["status"] == "blocked"
    leave(scene, "wilson", LINK)
    assert scene.tree()[f"{HOME}/work"] == Plain(b"second")
    assert b"first" in [one.content for one in scene.tree().values() if isinstance(one, Plain)]


MOMENTS = [("move", False), ("move", True), ("make_link", False), ("make_link", True), ("write", True)]


@turns(4)
@pytest.mark.parametrize("what", [name for name, (_tree, resource) in DIFFERENT.items() if "secret" not in resource])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("goes_on", [False, True])
def test_a_killed_run_loses_nothing(
    what: str, moment: tuple[str, bool], goes_on: bool, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's thing is in its place, or its copy is recorded; the next run or offboarding finds it."""
    found, resource = DIFFERENT[what]
    scene.make({**AREA, **found})
    before = scene.tree()
    kill_at(monkeypatch, *moment)
    replaced(scene, resource)
    monkeypatch.undo()
    place = scene.whole(resource["path"])
    is_moved = scene.tree().get(place) != before[place]
    assert bool([path for path in scene.tree() if "/former/" in path]) == is_moved
    assert not is_moved or [note["replaced"] for note in notes(scene).values()] == [True]
    if goes_on:
        assert replaced(scene, resource)["status"] != "failed"
        assert replaced(scene, resource)["status"] == "ok"
    kill_at(monkeypatch, *moment)
    leave(scene, "wilson", absent(resource))
    monkeypatch.undo()
    leave(scene, "wilson", absent(resource))
    assert scene.tree() == before


def kill_at(monkeypatch: pytest.MonkeyPatch, name: str, after: bool) -> None:
    """End the process that does the work before or after this change, unless it is about the receipt."""
    change = getattr(Host, name)

    def dying(host: Host, path: str, *given: Any, **more: Any) -> Any:
        is_about_it = type(host) is Host and not path.endswith("receipt.json")
        if is_about_it and not after:
            os._exit(9)
        done = change(host, path, *given, **more)
        if is_about_it:
            os._exit(9)
        return done

    monkeypatch.setattr(Host, name, dying)


@pytest.mark.parametrize("what", ["a key", "a docker login"])
@pytest.mark.parametrize("gone", ["the file", "its folder", "the entry"])
def test_a_users_key_comes_back_after_what_replaced_it_is_gone(what: str, gone: str, scene: Scene) -> None:
    found, resource = DIFFERENT[what]
    scene.make({**AREA, **found})
    place = scene.at(next(path for path, thing in found.items() if isinstance(thing, Plain)))
    replaced(scene, resource)
    if gone == "the entry":
        place.write_bytes(b"")
    else:
        place.unlink()
    if gone == "its folder":
        place.parent.rmdir()
    assert "failed" not in leave(scene, "wilson", absent(resource))
    key = b"another-key" if what == "a key" else base64.b64encode(b"$oauthtoken:key-ngc").replace(b"a2V5", b"eHh4")
    assert key in place.read_bytes()
    assert [path for path in scene.tree() if "hpc.onboard" in path] == []


def test_a_users_script_comes_back_after_its_folder_is_gone(scene: Scene) -> None:
    found, resource = DIFFERENT["a script"]
    scene.make(found)
    before = scene.tree()
    replaced(scene, resource)
    scene.at("~/bin/run").unlink()
    scene.at("~/bin").rmdir()
    assert "failed" not in leave(scene, "wilson", resource)
    assert scene.tree() == before
