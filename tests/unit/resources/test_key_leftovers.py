# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replaced key left: our drafts and enroot's tokens go, the rest stays and is named."""

from __future__ import annotations

import hashlib
from base64 import b64encode

from account_scene import Folder, Plain, Scene
from resource_tables import Case, judge, table

OLD = "nvapi-" + "aZ0_-" * 12 + "abcd"
NEW = "nvapi-" + "0123456789" * 6 + "wxyz"
MARK = "key 8b1ee50f2c75"
FILE = "~/enroot/.credentials"
DRAFT = "~/enroot/..credentials.hpc.onboard-draft"
HELD = {"~/enroot": Folder(0o700), FILE: Plain(f"machine nvcr.io login $oauthtoken password {NEW}\n".encode(), 0o600)}
CACHE = {"~/.cache": Folder(), "~/.cache/enroot": Folder()}
TOKENS = {"~/.cache/enroot/.tokens.1000": Folder(0o700), "~/.cache/enroot/.tokens.1000/a": Plain(b"t", 0o600)}
LAYER = {"~/.cache/enroot/layer": Plain(b"x")}
OPTIONS = {"known": {MARK: "the old key"}, "own": [FILE], "caches": ["~/.cache/enroot"]}


@table(
    Case("nothing is left", HELD, OPTIONS, "ok"),
    Case("a draft of ours goes", {**HELD, DRAFT: Plain(OLD.encode(), 0o600)}, OPTIONS, "extra", left={DRAFT: None}),
    Case(
        "enroots tokens go and its layers stay",
        {**HELD, **CACHE, **TOKENS, **LAYER},
        OPTIONS,
        "extra",
        left=dict.fromkeys(TOKENS),
    ),
    Case("a draft of another file is not ours", {"~/..x.hpc.onboard-draft": Plain(OLD.encode())}, OPTIONS, "ok"),
    Case("what is the users stays", {"~/.bashrc": Plain(f"export X={OLD}\n".encode())}, OPTIONS, "ok"),
)
def test_key_leftovers(scene: Scene, case: Case) -> None:
    judge(scene, "key_leftovers", case)


def test_the_old_key_in_other_lines_of_a_key_file_is_said(scene: Scene) -> None:
    mark, new = scene.host().fingerprint(OLD), "nvapi-" + hashlib.sha256(b"new").hexdigest()
    auth, new_auth = (b64encode(f"$oauthtoken:{key}".encode()).decode() for key in (OLD, new))
    entry = "machine {} login $oauthtoken password {}\n"
    lines = entry.format("nvcr.io", new) + entry.format("helm.ngc.nvidia.com", OLD) + f"# {OLD}\n"
    logins = (
        '{"auths": {\n "nvcr.io": {"auth": "' + new_auth + '"},\n "helm.ngc.nvidia.com": {"auth": "' + auth + '"}\n}}'
    )
    apptainer = "~/.apptainer/docker-config.json"
    scene.make({"~/enroot": Folder(0o700), FILE: Plain(lines.encode(), 0o600), "~/.apptainer": Folder(0o700)})
    scene.make(
        {apptainer: Plain(logins.encode(), 0o600), "~/.ngc": Folder(0o700), "~/.ngc/config": Plain(OLD.encode())}
    )
    options = {**OPTIONS, "own": [FILE, apptainer], "known": {mark: "the old key"}}
    (outcome,) = scene.run({"kind": "key_leftovers", **options})
    assert sorted(outcome["remarks"]) == [
        f"~/.apptainer/docker-config.json:3: the old key is in this file ({mark})",
        f"~/.ngc/config:1: the old key is in this file ({mark})",
        f"~/enroot/.credentials:2: the old key is on this line and on 1 more line ({mark})",
    ]
    assert outcome["evidence"] == {"leftovers": 3}


def test_a_key_file_that_has_the_old_key_alone_is_left_to_the_rotation(scene: Scene) -> None:
    mark = scene.host().fingerprint(OLD)
    scene.make({"~/enroot": Folder(0o700), FILE: Plain(f"machine nvcr.io login x password {OLD}\n".encode(), 0o600)})
    (outcome,) = scene.run({"kind": "key_leftovers", **OPTIONS, "known": {mark: "the old key"}})
    assert (outcome["remarks"], outcome["evidence"]) == ([], {"leftovers": 0})


def test_where_the_old_key_stands_is_said_and_another_key_is_not(scene: Scene) -> None:
    mark = scene.host().fingerprint(OLD)
    scene.make({"~/.bashrc": Plain(f"export A={NEW}\nexport X={OLD}\n".encode()), "~/job.sh": Plain(OLD.encode())})
    (outcome,) = scene.run({"kind": "key_leftovers", **OPTIONS, "known": {mark: "the old key"}})
    assert outcome["status"] == "ok"
    assert outcome["remarks"] == [
        f"~/.bashrc:2: the old key is in this file ({mark})",
        f"~/job.sh:1: the old key is in this file ({mark})",
    ]
    assert outcome["evidence"] == {"leftovers": 2}
