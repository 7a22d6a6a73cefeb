# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One resource that fails, hangs or dies costs its own, and what depends on it; never the rest of the plan."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from account_scene import Folder, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Resource, State
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS

from tests.effort import turns

pytestmark = turns(2)


class Odd(Resource):
    """A resource at a path; what it does when it is looked at is in its options."""

    KIND = "odd"
    OPTIONS = {"path": {"type": "path"}, "does": {"type": "str"}}

    def name(self) -> str:
        return f"odd {self.options['path']}"

    def touches(self, host: Host) -> list[str]:
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        return {"is": "odd"}

    def inspect(self, host: Host) -> State:
        does = self.options["does"]
        if does == "sleep":
            host.entry(self.options["path"])
            time.sleep(60)
        elif does == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif does == "raise":
            raise ValueError("the canary is in these words")
        elif does == "refuse":
            raise AccountError("it cannot be looked at")
        elif does == "unchanging":
            return {"is": "as ever"}
        return {"is": "odd"}

    def apply(self, host: Host) -> None:
        """Do nothing at all."""


def odd(path: str, does: str = "nothing") -> dict[str, Any]:
    """An entry of a plan."""
    return {"kind": "odd", "capability": "test", "options": {"path": path, "does": does}}


def taken(
    scene: Scene, entries: list[dict[str, Any]], check: bool = False, seconds: float = 1
) -> list[Mapping[str, Any]]:
    """The outcomes of a plan of odd resources."""
    plan = {**scene.plan([], check), "resources": entries, "seconds": seconds}
    said = answer(plan, {**KINDS, "odd": Odd})
    assert said["error"] is None
    return said["outcomes"]  # type: ignore[no-any-return]  # an answer is JSON


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    ("does", "status", "reason"),
    [
        ("sleep", "unknown", "did not end within 1 s"),
        ("die", "failed", "the process was killed"),
        ("raise", "failed", "a bug in hpc.onboard: ValueError in test_isolation.py:"),
        ("refuse", "failed", "it cannot be looked at"),
        ("unchanging", "failed", "these fields still differ after the change: is"),
    ],
)
def test_one_bad_resource_costs_only_its_own(does: str, status: str, reason: str, check: bool, scene: Scene) -> None:
    scene.make({"/work": Folder()})
    link = {"path": "~/work", "target": "/work", "state": "present"}
    entries = [odd("/a"), odd("/b", does), odd("/c"), {"kind": "storage_link", "capability": "test", "options": link}]
    outcomes = taken(scene, entries, check)
    assert [one["status"] for one in outcomes] == ["ok", status, "ok", "missing"]
    assert reason in outcomes[1]["reason"]
    assert "canary" not in str(outcomes)
    assert scene.at("~/work").is_symlink() is not check


def test_two_that_hang_cost_one_limit_each(scene: Scene) -> None:
    started = time.time()
    outcomes = taken(scene, [odd("/a", "sleep"), odd("/b"), odd("/c", "sleep"), odd("/d", "die")], seconds=0.5)
    assert [one["status"] for one in outcomes] == ["unknown", "ok", "unknown", "failed"]
    assert time.time() - started < 10


def test_what_lies_below_a_failed_one_waits_for_it_and_nothing_else_does(scene: Scene) -> None:
    scene.make({"/work": Folder()})
    link = {"path": "~/work", "target": "/work/me", "state": "present"}
    entries = [
        odd("/work/me", "refuse"),
        odd("/work/me/below"),
        odd("/work/me"),
        odd("/work/meadow"),
        {"kind": "storage_link", "capability": "test", "options": link},
    ]
    outcomes = taken(scene, entries)
    assert [one["status"] for one in outcomes] == ["failed", "blocked", "ok", "ok", "blocked"]
    assert [one["reason"] for one in outcomes if one["status"] == "blocked"] == ["waits for: odd /work/me"] * 2


def test_one_section_that_is_blocked_does_not_cost_the_others_of_its_file(scene: Scene) -> None:
    own = {"kind": "shell_environment", "section": "own", "variables": {"A": "1"}}
    scene.run(own)
    generated = scene.at("~/.config/hpc.onboard/env.sh")
    generated.write_text(generated.read_text().replace("'1'", "'2'"))
    outcomes = scene.life(own, {**own, "section": "other"})
    assert [one["status"] for one in outcomes] == ["blocked", "missing"]


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("unshare"), reason="needs root, to mount file systems")
def test_everything_on_a_file_system_that_hangs_is_not_asked_again(tmp_path: Path) -> None:
    """In a mount namespace of its own, with real mounts."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time; from pathlib import Path; from account_scene import Scene, Folder\n"
        "from test_isolation import odd, taken\n"
        "import subprocess\n"
        "scene = Scene(Path(sys.argv[1]))\n"
        "scene.make({'/dead': Folder(), '/fine': Folder(), '/a b': Folder()})\n"
        "for name in ('dead', 'fine', 'a b'):\n"
        "    subprocess.run(['mount', '-t', 'tmpfs', 'none', str(scene.at('/' + name))], check=True)\n"
        "started = time.time()\n"
        "paths = ['/dead/1', '/fine/1', '/dead/2', '/a b/1', '~/x', '/dead/3']\n"
        "entries = [odd(path, 'sleep' if 'dead' in path else 'nothing') for path in paths]\n"
        "for one in taken(scene, entries): print(one['status'], one['reason'])\n"
        "assert time.time() - started < 3, 'asked again'\n"
    )
    ran = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", sys.executable, str(script), str(tmp_path / "cluster")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    statuses = ["unknown", "ok", "unknown", "ok", "ok", "unknown"]
    assert [line.split()[0] for line in lines] == statuses
    assert all("/cluster/dead did not respond" in line for line in lines if line.startswith("unknown"))


def test_touches_asks_no_file_system() -> None:
    """It is called in the process that must never wait; a Host that can do nothing serves it."""

    class Blind(Host):
        def __init__(self) -> None:
            self.home, self.root = "/home/simone", ""

    for kind in KINDS.values():
        given = {name: spec.get("default") for name, spec in kind.OPTIONS.items()}
        given.update(
            {
                "path": [] if kind.KIND == "shell_environment" else "/a/b",
                "target": "/t",
                "machine": "m.x",
                "login": "me",
            }
        )
        given.update({"password": "k", "content": "#!/bin/sh\n", "prefix": "/a/b"})
        installers = {"x86_64": {"url": "https://a.org/b", "sha256": "0" * 64}}
        given.update({"distribution": "miniforge", "version": "1", "installers": installers, "registry": "nvcr.io"})
        given.update({"known": {"key 0": "the old one"}, "image": "nvcr.io/nvidia/pytorch:24.03-py3", "folder": "/a/b"})
        if kind.KIND == "rotated_key":
            given.update({"registry": {}, "places": [{"kind": "token_file"}]})
        resource = kind({name: value for name, value in given.items() if name in kind.OPTIONS})
        assert all(path.startswith("/") for path in resource.touches(Blind()))
