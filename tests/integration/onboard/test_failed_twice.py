# SPDX-License-Identifier: GPL-3.0-or-later
"""What hpc-onboard created and could not finish stays its own, however often a run fails; over real ssh."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.audit.audit_scene import Scene
from tests.integration.onboard.test_offboard import offboard, tree

pytestmark = pytest.mark.testbed

RECEIPT = ".config/hpc.onboard/receipt.json"
PARTS = [f".config/hpc.onboard/env.{shell}" for shell in ("sh", "csh", "fish")]


@pytest.fixture
def scene(bed: Any, tmp_path: Path) -> Scene:
    account = bed.new_account("dfki", skel=True)
    settings = {"without": ["conda", "enroot_credentials"], "shell_environment": {"variables": {"H3A": "one"}}}
    return Scene(bed, tmp_path, [account], {account.name: settings})


def immutable(path: Path, on: bool) -> None:
    """Make a file one that nobody changes, or one that its owner may change again."""
    subprocess.run(["chattr", "+i" if on else "-i", str(path)], check=True)


def test_an_environment_that_failed_twice_is_removed_by_offboarding(scene: Scene) -> None:
    account = scene.accounts[0]
    before = tree(account)
    start_up = account.path(".bashrc")
    immutable(start_up, True)
    try:
        first = scene.onboard()
        noted = account.read(RECEIPT)
        written = account.path(RECEIPT).stat()
        second = scene.onboard()
        then = account.path(RECEIPT).stat()
    finally:
        immutable(start_up, False)
    assert (first.code, second.code) == (2, 2), first.text + second.text
    assert all(account.exists(part) for part in PARTS)
    assert account.read(RECEIPT) == noted
    assert (then.st_mtime_ns, then.st_ino) == (written.st_mtime_ns, written.st_ino), "written again"
    gone = offboard(scene)
    assert gone.code == 0, gone.text
    assert tree(account) == before
