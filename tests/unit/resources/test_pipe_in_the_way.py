# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is neither file nor folder nor link stays where it is, and is called what it is: no 'is a other'."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from account_scene import Scene

IN_THE_WAY: dict[str, dict[str, Any]] = {
    "script": {"kind": "path_script", "path": "~/it", "content": "#!/bin/sh\n"},
    "key": {"kind": "token_file", "path": "~/it", "password": "hf_" + "a" * 34},
    "link": {"kind": "storage_link", "path": "~/it", "target": "/data"},
    "its target": {"kind": "storage_link", "path": "~/link", "target": "~/it"},
    "start-up file": {"kind": "shell_environment", "variables": {"A": "1"}},
}


def put_socket(path: Path) -> None:
    """A socket, whose address would be too long as a whole path."""
    here = Path.cwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


@pytest.mark.parametrize("asked", IN_THE_WAY.values(), ids=IN_THE_WAY)
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_pipe_or_a_socket_in_the_way_is_called_that(scene: Scene, kind: str, asked: dict[str, Any]) -> None:
    scene.make({})
    path = scene.at("~/.bashrc" if asked["kind"] == "shell_environment" else "~/it")
    path.parent.mkdir(parents=True, exist_ok=True)
    (os.mkfifo if kind == "pipe" else put_socket)(path)
    outcome = scene.run(asked)[0]
    assert outcome["status"] == "blocked"
    assert f" is a {kind}" in outcome["reason"].replace(" real ", " ")
    assert path.lstat()
