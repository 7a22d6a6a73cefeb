# SPDX-License-Identifier: GPL-3.0-or-later
"""At every stage of an account's life a key is in its keyring and its targets, and nowhere else on the machine."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.effort import exhaustive
from tests.integration.rotation.rotation_kills import PLACES
from tests.integration.rotation.rotation_scene import staged
from tests.integration.rotation.test_rotate_secret import roots
from tests.integration.runs import play
from tests.testbed.registry import PRIVATE, new_key

from .hunt import hunt

pytestmark = pytest.mark.testbed


def test_a_hunt_finds_what_is_planted_and_ends_when_its_time_is_over(tmp_path: Path) -> None:
    since, key = time.time() - 1, new_key()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "leak").write_bytes(b"before" + key.encode().hex().encode())
    (tmp_path / "link").symlink_to(f"nowhere-{key}")
    with subprocess.Popen(["sh", "-c", "read line", "sh", key], stdin=subprocess.PIPE) as planted:
        seen = hunt(since, key, roots=(str(tmp_path),))
        planted.communicate()
    assert seen.places == {
        str(tmp_path / "deep" / "leak"),
        str(tmp_path / "link"),
        f"/proc/{planted.pid}/cmdline",
    }
    assert seen.whole
    cut = hunt(since, key, roots=(str(tmp_path),), budget=0)
    assert (cut.whole, cut.files) == (False, 0)


@exhaustive  # it looks at every file of the machine, four times
def test_at_no_stage_is_a_key_anywhere_but_where_it_belongs(bed: Any, tmp_path: Path) -> None:
    since = time.time() - 1
    with staged(bed, tmp_path, ("lrz", "dfki")) as stage:
        targets = {str(one.path(path)) for one in stage.accounts for path in PLACES}
        new = new_key()
        stage.registry.allow(new, [PRIVATE])
        given = str(stage.folder / "new-key")
        worlds = [str(root) for root in roots(stage) if str(root).startswith("/proc/")]  # their own mounts
        everywhere = ("/", *worlds)

        def look(name: str, allowed: set[str]) -> set[str]:
            seen = hunt(since, stage.old, new, roots=everywhere)
            print(f"{name}: {seen}")
            assert seen.whole, f"{name}: {seen}"
            assert seen.places - allowed == set(), name
            return set(seen.places)

        assert look("onboard", targets), "the key is where it belongs"
        inventory = ("-i", str(bed.accounts_file(stage.accounts)))
        audited = play(bed, *inventory, "-vvvv", playbook="audit.yml", environment=stage.environment)
        assert audited.code in (0, 2), audited.text
        look("audit", targets)
        rotated = stage.rotate("-vvvv", "--diff", key=new)
        assert rotated.code == 0, rotated.text
        look("rotate", {*targets, given})
        sure = (*inventory, "-vvvv", "-e", "offboard_sure=true")
        gone = play(bed, *sure, playbook="offboard.yml", environment=stage.environment)
        assert gone.code == 0, gone.text
        look("offboard", {given})
