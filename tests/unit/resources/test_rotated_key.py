# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that is replaced at all places of a file: what is found, asked for, said, and there afterwards.

How it is tried at a registry is in tests/integration/rotation/test_rotated_key.py.
"""

from __future__ import annotations

from typing import Any

import pytest
from account_scene import Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._resources.rotated_key import RotatedKey
from resource_tables import Case, judge, table

FILE = "~/enroot/.credentials"
THERE = {"~/enroot": Folder(0o700)}
PLACES = [{"kind": "enroot_credential", "machine": host} for host in ("nvcr.io", "authn.nvidia.com")]
KEY: dict[str, Any] = {"path": FILE, "places": PLACES, "password": "nvapi-new"}
NEW = b"".join(b"machine %s login $oauthtoken password nvapi-new\n" % h for h in (b"nvcr.io", b"authn.nvidia.com"))
OLD = NEW.replace(b"new", b"old")
OTHER = b"# mine \xff\nmachine other login me password mine\r\n"


@table(
    Case("where no key is, none is written", {}, KEY, "ok", left={}),
    Case(
        "beside other entries none is written",
        {**THERE, FILE: Plain(OTHER, 0o640)},
        KEY,
        "ok",
        left={FILE: Plain(OTHER, 0o640)},
    ),
    Case(
        "a line that is not there is not written beside the other one",
        {**THERE, FILE: Plain(OLD.splitlines(True)[0], 0o600)},
        KEY,
        "different",
        left={FILE: Plain(NEW.splitlines(True)[0], 0o600)},
    ),
    Case(
        "a key that is not known stays",
        {**THERE, FILE: Plain(OLD, 0o600)},
        {**KEY, "known": []},
        "blocked",
        "contains an unknown key",
        left={FILE: Plain(OLD, 0o600)},
    ),
    Case(
        "a key that is not known stays though the first line of its place is known",
        {**THERE, FILE: Plain(NEW + OLD, 0o600)},
        {**KEY, "known": []},
        "blocked",
        "contains an unknown key",
        left={FILE: Plain(NEW + OLD, 0o600)},
    ),
    Case("what is there already is left alone", {**THERE, FILE: Plain(NEW, 0o600)}, KEY, "ok"),
    Case(
        "both are replaced and foreign bytes stay",
        {**THERE, FILE: Plain(OTHER + OLD, 0o600)},
        KEY,
        "different",
        left={FILE: Plain(OTHER + NEW, 0o600)},
    ),
    Case(
        "of two lines the old one is replaced",
        {**THERE, FILE: Plain(NEW.splitlines(True)[0] + OLD.splitlines(True)[1], 0o600)},
        KEY,
        "different",
        left={FILE: Plain(NEW, 0o600)},
    ),
    Case(
        "what stands in the way of one keeps both",
        {**THERE, FILE: Plain(OLD + b"machine authn.nvidia.com\n  login x\n", 0o600)},
        KEY,
        "blocked",
        "several lines",
    ),
)
def test_rotated_key(scene: Scene, case: Case) -> None:
    judge(scene, "rotated_key", case)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"places": [{"kind": "directory"}]}, "unknown type"),
        ({"places": [{"kind": "enroot_credential", "machine": "a b"}]}, "machine"),
        ({"password": "$(id)"}, "begins with"),
        ({"path": "~/.ssh/x"}, ".ssh"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(AccountError, match=reason):
        RotatedKey({"registry": {}, **KEY, **options})


def test_a_key_in_a_file_without_logins_is_tried_at_the_registry(scene: Scene) -> None:
    scene.make({"~/.ngc": Folder(0o700), "~/.ngc/config": Plain(b"[CURRENT]\napikey = nvapi-old\n", 0o600)})
    registry = {"address": "https://127.0.0.1:1", "repository": "nvidia/cuda"}
    place = {"path": "~/.ngc/config", "places": [{"kind": "ngc_config"}], "registry": registry}
    outcome = scene.run({"kind": "rotated_key", "password": "nvapi-new", **place})[0]
    assert (outcome["status"], outcome["evidence"]) == ("different", {"verdict": "unknown"}), outcome["reason"]
