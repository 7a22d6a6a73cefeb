# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole life on the disk of the checkout: all other tests may lie in memory, where a flush costs nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

from account_scene import Plain, Scene

CACHE = Path(__file__).parents[3] / ".cache"
FOREIGN = b"machine gitlab.example.org login me password mine\n"


def test_a_key_and_its_environment_come_change_and_go() -> None:
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="on-disk-", dir=CACHE) as folder:
        scene = Scene(Path(folder) / "cluster")
        scene.make({"~/.netrc": Plain(FOREIGN, 0o600)})
        before = scene.tree()
        entry = {"kind": "netrc_entry", "machine": "api.wandb.ai"}
        settings = {"kind": "shell_environment", "section": "own", "variables": {"A": "1"}}
        for key in ("one", "two"):
            scene.life({**entry, "secret": key}, settings)
            assert f"key-{key}".encode() in scene.at("~/.netrc").read_bytes()
        scene.life({**entry, "state": "absent"}, {**settings, "state": "absent"})
        assert {path: thing for path, thing in scene.tree().items() if path in before} == before
