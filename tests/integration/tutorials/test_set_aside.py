# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user set aside because onboarding said so: offboarding says how to restore it, over real ssh."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.audit.audit_scene import Scene, at
from tests.integration.onboard.test_offboard import offboard, tree

pytestmark = pytest.mark.testbed

OWN = '#!/bin/sh\nexec srun --mem=64GB -K -p batch --time=60 "$@"\n'
CONFLICT = re.compile(r"\((mv -n [^)]+)\)")
RESTORE = re.compile(r"run `(mv -n [^`]+)` to restore it")


@pytest.fixture
def scene(bed: Any, tmp_path: Path) -> Scene:
    """An account with a script and a link of the user's own where onboarding creates such."""
    account = bed.new_account("dfki", skel=True)
    at(account, f"mkdir -p bin old; printf '%s' '{OWN}' > bin/usrun.sh; chmod 700 bin/usrun.sh; ln -s old data")
    return Scene(bed, tmp_path, [account], {account.name: {"without": ["conda"]}})


def commands(pattern: re.Pattern[str], text: str) -> set[str]:
    """The commands that a run printed, in one line each."""
    return set(pattern.findall(" ".join(text.split())))


def test_the_printed_commands_set_things_aside_and_restore_them(scene: Scene) -> None:
    account = scene.accounts[0]
    before = tree(account)
    blocked = scene.onboard()
    assert blocked.code == 2, blocked.text
    aside = commands(CONFLICT, blocked.text)
    assert aside == {"mv -n ~/bin/usrun.sh ~/bin/usrun.sh.mine", "mv -n ~/data ~/data.mine"}
    for command in sorted(aside):
        assert account.ssh(command).returncode == 0
    assert scene.onboard().code == 0

    shown = offboard(scene, "--check")
    gone = offboard(scene)
    assert (shown.code, gone.code) == (0, 0), shown.text + gone.text
    back = commands(RESTORE, gone.text)
    assert back == {"mv -n ~/bin/usrun.sh.mine ~/bin/usrun.sh", "mv -n ~/data.mine ~/data"}
    assert commands(RESTORE, shown.text) == back
    for command in sorted(back):
        assert account.ssh(command).returncode == 0
    assert tree(account) == before
