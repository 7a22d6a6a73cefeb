# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was there before hpc-onboard: it is used as it is, reported as adopted, and there after offboarding."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from account_scene import Folder, Link, Plain, Scene, Tree
from ansible_collections.hpc.onboard.plugins.module_utils._formats.origin_mark import add_mark
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import receipt
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS
from test_receipt import leave, notes, said

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
}


@pytest.mark.parametrize("what", THERE)
def test_what_serves_is_adopted_and_stays(what: str, scene: Scene) -> None:
    found, resources, adopted = THERE[what]
    scene.make({**AREA, **found})
    before = scene.tree()
    said(scene, *resources, cluster="wilson")
    settled = said(scene, *resources, cluster="wilson")["outcomes"]
    assert [(one["status"], one["evidence"].get("adopted")) for one in settled] == [("ok", one) for one in adopted]
    assert sum(not note["made"] for note in notes(scene).values()) == len([one for one in adopted if one])
    leave(scene, "wilson", *({k: v for k, v in one.items() if k != "secret"} for one in resources))
    assert scene.tree() == before


def test_a_query_and_a_lost_receipt_adopt_nothing(scene: Scene) -> None:
    assert {kind for kind in KINDS if not KINDS[kind].IS_KEPT} == {"emptied_cache", "slurm_test_job"}
    scene.make(AREA)
    said(scene, LINK)
    scene.at(f"~/{receipt.PLACE}").write_text("{")
    assert [one["evidence"] for one in said(scene, LINK, work="examine")["outcomes"]] == [{}]
