# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run at a time: who holds the lock is said, a dead owner does not hold it, and no update is lost."""

from __future__ import annotations

import os
import signal
import time

import pytest
from account_scene import Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._engine.lock import NAME, run_locked
from forked import child

FILE = "~/.config/enroot/.credentials"


def holder(scene: Scene) -> int:
    """A process that holds the lock until it is killed; it does when this returns."""
    pid = child(lambda: run_locked(scene.host(), lambda: time.sleep(60)))
    lock = scene.at("~/" + NAME)
    deadline = time.time() + 20
    while not (lock.exists() and f"process {pid}," in lock.read_text()):
        assert time.time() < deadline
        time.sleep(0.01)
    return pid


def test_a_second_run_says_who_is_at_work(scene: Scene) -> None:
    pid = holder(scene)
    try:
        with pytest.raises(AccountError) as refused:
            run_locked(scene.host(), pytest.fail, seconds=0.3)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert f"({os.uname().nodename}, process {pid}, since " in str(refused.value)


def test_a_second_run_waits_for_the_first(scene: Scene) -> None:
    pid = child(lambda: run_locked(scene.host(), lambda: time.sleep(0.5)))
    time.sleep(0.2)
    held = []
    run_locked(scene.host(), lambda: held.append(scene.at("~/" + NAME).exists()), seconds=20)
    assert held == [True]
    os.waitpid(pid, 0)


def test_a_file_left_behind_goes_with_the_next_run_even_if_it_has_nothing_to_do(scene: Scene) -> None:
    scene.make({"/work": Folder(), "~/" + NAME: Plain(b"node7, process 1, since yesterday\n", 0o600)})
    assert scene.run({"kind": "directory", "path": "/work"})[0]["status"] == "ok"
    assert not scene.at("~/" + NAME).exists()


def test_a_link_in_place_of_the_lock_is_not_followed(scene: Scene) -> None:
    scene.make({"~/mine": Plain(b"precious\n")})
    scene.at("~/" + NAME).symlink_to("mine")
    with pytest.raises(AccountError, match="locking the account"):
        run_locked(scene.host(), pytest.fail, seconds=0)
    assert scene.at("~/mine").read_bytes() == b"precious\n"


def test_a_home_that_cannot_be_locked_costs_every_resource_with_a_reason(scene: Scene) -> None:
    scene.make({"/work": Folder(), "~/" + NAME: Folder()})
    outcomes = scene.run(
        {"kind": "storage_link", "path": "~/a", "target": "/work"}, {"kind": "directory", "path": "/work/x"}
    )
    assert [one["status"] for one in outcomes] == ["failed", "failed"]
    assert all("locking the account with ~/.hpc.onboard.lock failed (EISDIR)" in one["reason"] for one in outcomes)


def test_whole_runs_at_once_lose_nothing(scene: Scene) -> None:
    def run(writer: int) -> None:
        for number in range(3):
            key = {"kind": "enroot_credential", "machine": f"m{writer}-{number}.example", "password": "k"}
            assert scene.run(key)[0]["status"] == "missing"

    pids = [child(lambda writer=writer: run(writer)) for writer in range(3)]  # type: ignore[misc]  # mypy infers no default of a lambda
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
    assert len(scene.at(FILE).read_text().splitlines()) == 9
    assert not scene.at("~/" + NAME).exists()
