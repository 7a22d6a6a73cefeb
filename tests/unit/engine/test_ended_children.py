# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site may end any process of ours, and another goes on behind it: what it made is noted, and goes with the rest."""

from __future__ import annotations

import json
import os
import re
import signal
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from account_scene import Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._engine import isolation
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import receipt_file
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding import add_folders
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS

from tests.effort import sample, turns

pytestmark = turns(2)

LAUNCHER = "#!/bin/sh\nexec true\n"
WANTED = [
    {"kind": "directory", "path": "/work/me/cache", "root": "/work", "mode": "0700"},
    {"kind": "storage_link", "path": "~/deep/work", "target": "/work/me/cache"},
    {"kind": "path_script", "path": "~/bin/run.sh", "content": LAUNCHER},
    {"kind": "shell_environment", "section": "one", "variables": {"A": "1"}, "path": ["~/bin"]},
]


class Moment(NamedTuple):
    """When a process is ended: the child of a run by its number, before or after it has taken so many resources."""

    child: int
    resource: int
    after: bool


class Deaths:
    """What ends children at given moments, and says which moments there are."""

    def __init__(self, patch: pytest.MonkeyPatch, *moments: Moment) -> None:
        self.moments = moments
        self.child = -1
        self.happened: set[Moment] = set()
        real, report = os.fork, isolation._write_outcomes

        def fork() -> int:
            self.child += 1
            return real()

        def dying(todo: list[Any], outcome: Any, writer: int) -> None:
            def taken(resource: Any) -> Any:
                at = todo.index(resource)
                self.end(Moment(self.child, at, False))
                found = outcome(resource)
                self.end(Moment(self.child, at, True))
                return found

            report(todo, taken, writer)

        patch.setattr(isolation.os, "fork", fork)  # type: ignore[attr-defined]  # it imports os
        patch.setattr(isolation, "_write_outcomes", dying)

    def end(self, now: Moment) -> None:
        """End this process, if it is the time."""
        if now in self.moments:
            os.kill(os.getpid(), signal.SIGKILL)


def carried_out(scene: Scene, gone: bool) -> list[dict[str, Any]]:
    """The outcomes of an onboarding, or of an offboarding."""
    plan = scene.plan([{**one, "state": "absent"} if gone else one for one in WANTED])
    if gone:
        there = scene.tree().get(f"/home/simone/{receipt_file.PLACE}")
        noted = json.loads(there.content)["resources"] if isinstance(there, Plain) else {}
        plan["resources"] = add_folders(plan["resources"], noted, "")[::-1]
    said = answer({**plan, "receipt": True, "only_made": gone}, KINDS)
    assert said["error"] is None
    outcomes: list[dict[str, Any]] = said["outcomes"]
    return outcomes


def sorted_sections(scene: Scene) -> dict[str, Any]:
    """The tree, whatever the order is in which sections were added to a file."""
    found = scene.tree()
    for path, thing in found.items():
        if isinstance(thing, Plain) and b"# >>> " in thing.content:
            found[path] = Plain(b"".join(sorted(re.split(rb"(?m)^(?=# >>> )", thing.content))), thing.mode)
        elif isinstance(thing, Plain) and path.endswith("receipt.json"):
            document = json.loads(thing.content)
            made = {key: note["made"] for key, note in document["resources"].items()}
            found[path] = Plain(json.dumps(made, sort_keys=True).encode(), thing.mode)
    return found


MOMENTS = [Moment(child, at, after) for child in range(5) for at in range(5) for after in (False, True)]
PAIRS = [*((one,) for one in MOMENTS), *combinations(MOMENTS, 2)]


@pytest.mark.parametrize("gone", [False, True])
def test_whatever_processes_are_ended_the_next_run_makes_good_and_nothing_stays(gone: bool, tmp_path: Path) -> None:
    whole = Scene(tmp_path / "whole")
    whole.make({"/work": Folder()})
    carried_out(whole, False)
    wanted = sorted_sections(whole)
    for number, moments in enumerate(sample(PAIRS, 10, "children", gone)):
        scene = Scene(tmp_path / str(number))
        scene.make({"/work": Folder()})
        before = scene.tree()
        if gone:
            carried_out(scene, False)
        with pytest.MonkeyPatch.context() as patch:
            Deaths(patch, *moments)
            carried_out(scene, gone)
        if not gone and number % 2:
            assert not [one for one in carried_out(scene, False) if one["status"] in ("failed", "blocked")], moments
            assert sorted_sections(scene) == wanted, moments
        carried_out(scene, True)
        assert scene.tree() == before, moments
