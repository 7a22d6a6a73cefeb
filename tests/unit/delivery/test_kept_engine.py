# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine that an account keeps: under every Python there is, and killed while it is written."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from account_scene import HOME, Folder, Scene
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer as _answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload

from tests.effort import EXHAUSTIVE, turns
from tests.unit.delivery.test_command import EVERYTHING, PLACES, outcomes, pythons

pytestmark = turns(3)


def ask_kept(scene: Scene, python: str, digests: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """What the account answers to the plan alone, for the engine that it keeps."""
    data = payload.build_short_payload(scene.plan(EVERYTHING), PLACES, digests)
    assert len(data) <= 12 * 1024
    home = {"HOME": str(scene.root) + HOME}
    command = ["/bin/sh", "-c", payload.build_command(python, [])]
    return subprocess.run(command, input=data, capture_output=True, check=False, env=home)


@pytest.mark.parametrize("version", sorted(pythons(), key=lambda text: int(text[2:])))
def test_every_python_keeps_the_engine_and_runs_its_own(version: str, tmp_path: Path) -> None:
    python, contents = pythons()[version], []
    for place in ("a", "b"):
        scene = Scene(tmp_path / place)
        scene.make({"/work": Folder()})
        data = payload.build_payload({**scene.plan(EVERYTHING), "receipt": True, "engine": "keep"}, PLACES)
        ran = subprocess.run(
            ["/bin/sh", "-c", payload.build_command(python, [])], input=data, capture_output=True, check=True
        )
        file = _answer.parse(ran.stdout.decode(), "", 0, "x")["engine"]
        assert file, "the account keeps none"
        assert file["python"] == "cpython-" + version.replace(".", "")
        contents += [path.read_bytes() for path in scene.at("~/.config/hpc.onboard").glob("engine-*")]
    assert contents[0] == contents[1], "another machine would write the file again"
    kept = ask_kept(scene, python, {file["python"]: file["digest"]})
    assert kept.returncode == 0, kept.stderr
    answer = _answer.parse(kept.stdout.decode(), "", 0, "x")
    assert {one["status"] for one in outcomes(answer)} == {"ok"}
    other = next(path for name, path in pythons().items() if name != version)
    for wrong in ((python, {file["python"]: "0" * 64}), (other, {file["python"]: file["digest"]})):
        assert ask_kept(scene, *wrong).returncode == payload.NOT_KEPT


def test_a_kill_at_any_moment_leaves_the_kept_engine_whole_or_absent(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", payload.build_command(None, [])]

    def begin(scene: Scene) -> subprocess.Popen[bytes]:
        scene.make({"/work": Folder()})
        data = payload.build_payload({**scene.plan(EVERYTHING), "receipt": True, "engine": "keep"}, PLACES)
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert run.stdin
        run.stdin.write(data)
        run.stdin.close()
        return run

    def kept(scene: Scene) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in scene.at("~/.config/hpc.onboard").glob("*engine-*")}

    started = time.monotonic()
    whole = Scene(tmp_path / "whole")
    assert begin(whole).wait() == 0
    took, expected, rounds = time.monotonic() - started, kept(whole), 60 if EXHAUSTIVE else 6
    assert len(expected) == 1
    for number in range(rounds):
        scene = Scene(tmp_path / str(number))
        run = begin(scene)
        time.sleep(took * (number + 1) / (rounds + 1))
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        assert {
            name: part for name, part in kept(scene).items() if not name.startswith(".")
        }.items() <= expected.items()
        assert begin(scene).wait() == 0
        assert kept(scene) == expected, "a draft is left"
