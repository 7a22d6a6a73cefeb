# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tables cannot lay out: hard links, access lists, other owners, and permissions that root would not miss."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from account_scene import Folder, Link, Plain, Scene
from forked import as_nobody

FILE = "~/.config/enroot/.credentials"
NVCR = {"kind": "enroot_credential", "machine": "nvcr.io", "password": "nvapi-new"}
LINE = b"machine nvcr.io login $oauthtoken password nvapi-new\n"
ENV = {"kind": "shell_environment", "section": "own", "variables": {"A": "1"}}
NOBODY = pwd.getpwnam("nobody")
as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to give files to another user")
with_lists = pytest.mark.skipif(not shutil.which("setfacl"), reason="setfacl is not installed")


@pytest.fixture
def enroot(scene: Scene) -> Scene:
    """An account with a key in place."""
    scene.make({"~/.config": Folder(), "~/.config/enroot": Folder(0o700), FILE: Plain(LINE, 0o600)})
    return scene


def test_a_key_with_two_names_is_kept(enroot: Scene) -> None:
    enroot.at(FILE).write_bytes(b"# mine\n")
    os.link(enroot.at(FILE), enroot.at("~/copy"))
    outcome = enroot.life(NVCR)[0]
    assert (outcome["status"], "2 hard links" in outcome["reason"]) == ("blocked", True)
    assert enroot.at("~/copy").read_bytes() == b"# mine\n"


def test_a_start_up_file_with_two_names_is_kept_and_the_line_is_shown(scene: Scene) -> None:
    scene.make({"~/.bashrc": Plain(b"x\n")})
    os.link(scene.at("~/.bashrc"), scene.at("~/copy"))
    outcome = scene.life(ENV)[0]
    assert outcome["status"] == "blocked"
    assert "env.sh" in outcome["reason"]


def access_list(scene: Scene, path: str) -> str:
    """The access list of a file."""
    order = ["getfacl", "-c", str(scene.at(path))]
    return subprocess.run(order, capture_output=True, text=True, check=True).stdout


@with_lists
def test_an_access_list_on_a_key_is_taken_off(enroot: Scene) -> None:
    subprocess.run(["setfacl", "-m", "u:nobody:r", str(enroot.at(FILE))], check=True)
    outcome = enroot.life(NVCR)[0]
    assert (outcome["status"], outcome["fields"]) == ("different", ["mode"])
    assert "nobody" not in access_list(enroot, FILE)


@with_lists
def test_a_default_access_list_of_the_folder_does_not_reach_a_new_key(enroot: Scene) -> None:
    enroot.at(FILE).unlink()
    subprocess.run(["setfacl", "-d", "-m", "u:nobody:rwx", str(enroot.at(FILE).parent)], check=True)
    assert enroot.life(NVCR)[0]["status"] == "missing"
    assert "nobody" not in access_list(enroot, FILE)


@with_lists
def test_a_start_up_file_keeps_its_access_list(scene: Scene) -> None:
    scene.make({"~/.bashrc": Plain(b"x\n")})
    subprocess.run(["setfacl", "-m", "u:nobody:r", str(scene.at("~/.bashrc"))], check=True)
    scene.life(ENV)
    assert "user:nobody:r--" in access_list(scene, "~/.bashrc")


@as_root
@pytest.mark.parametrize("path", [FILE, "~/.config/enroot", "~/.config", "~"])
def test_no_key_is_kept_where_somebody_else_could_swap_it(path: str, enroot: Scene) -> None:
    enroot.at(FILE).write_bytes(b"# mine\n")
    os.chown(enroot.at(path), NOBODY.pw_uid, -1)
    outcome = enroot.life(NVCR)[0]
    assert outcome["status"] == "blocked"
    assert "another user" in outcome["reason"]
    assert enroot.at(FILE).read_bytes() == b"# mine\n"


@as_root
def test_a_start_up_file_of_somebody_else_is_kept(scene: Scene) -> None:
    scene.make({"~/dot": Folder(), "~/dot/rc": Plain(b"x\n"), "~/.bashrc": Link("dot/rc")})
    os.chown(scene.at("~/dot/rc"), NOBODY.pw_uid, -1)
    assert "belongs to another user" in scene.life(ENV)[0]["reason"]


def test_a_later_write_of_one_trip_is_previewed_on_an_earlier_one(scene: Scene) -> None:
    scene.make({"/work": Folder(), "~/dot": Folder(), "~/.config": Link("dot")})
    outcomes = scene.life(
        {"kind": "directory", "path": "/work/simone", "root": "/work"},
        {"kind": "storage_link", "path": "~/work", "target": "/work/simone"},
        {"kind": "directory", "path": "~/work/caches/tmp", "root": "/work/simone"},
        {"kind": "path_script", "path": "~/work/bin/x", "content": "#!/bin/sh\n"},
        ENV,
        {**ENV, "section": "other"},
    )
    assert {one["status"] for one in outcomes} == {"missing"}


DENIED = [
    ({"kind": "storage_link", "path": "~/work", "target": "/work"}, "~", "creating the link ~/work failed (EACCES)"),
    (
        {"kind": "directory", "path": "/work/me", "root": "/work"},
        "/work",
        "creating the folder /work/me failed (EACCES)",
    ),
    ({"kind": "path_script", "path": "~/bin/x", "content": "#!/bin/sh\n"}, "~/bin", "writing ~/bin/x failed (EACCES)"),
    ({**NVCR, "path": "~/.k/c"}, "~", "creating the folder ~/.k failed (EACCES)"),
    (ENV, "~", "creating the folder ~/.config failed (EACCES)"),
]


@pytest.mark.parametrize(("resource", "closed", "reason"), DENIED)
def test_a_folder_that_may_not_be_written_is_previewed(
    resource: dict[str, Any], closed: str, reason: str, scene: Scene
) -> None:
    scene.make({"/work": Folder(), "~/bin": Folder()})
    for folder in (scene.root, *scene.root.rglob("*")):
        if os.getuid() == 0:
            os.chown(folder, NOBODY.pw_uid, NOBODY.pw_gid)
    for folder in scene.root.parents:
        if folder.owner() == pwd.getpwuid(os.getuid()).pw_name and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    scene.at(closed).chmod(0o555)
    before = scene.tree()
    preview, taken = (as_nobody(lambda check=check: scene.run(resource, check=check)) for check in (True, False))
    assert scene.tree() == before
    assert taken == preview or "locking the account" in taken[0]["reason"]
    assert preview[0]["status"] == "failed"
    assert preview[0]["reason"].startswith(reason)
