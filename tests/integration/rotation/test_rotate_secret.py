# SPDX-License-Identifier: GPL-3.0-or-later
"""After a rotation the old key is nowhere and the new one where it belongs; on the way no process ever showed one."""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.effort import exhaustive
from tests.integration.onboard.leaks import EVERYWHERE, Watch, files_with_leaks, leaks
from tests.integration.onboard.test_canary import PROGRAMS, recorded, server_of, traced_ansible
from tests.integration.runs import REPOSITORY
from tests.testbed.registry import PRIVATE, new_key

from .rotation_kills import PLACES
from .rotation_scene import Stage, settled

pytestmark = pytest.mark.testbed


def test_a_planted_key_is_seen_in_arguments_and_environment_here_and_in_every_world(stage: Stage) -> None:
    here, there, inside = new_key(), new_key(), new_key()
    world = stage.accounts[3].cluster.world
    with Watch([here, there, inside]) as watch:
        planted = [
            subprocess.Popen(["sh", "-c", "sleep 1", "sh", here]),
            subprocess.Popen(["sleep", "1"], env={"KEY": f"before{there}after"}),
            subprocess.Popen(world.command("sh", "-c", "sleep 1", "sh", inside.encode().hex())),
        ]
        for process in planted:
            process.wait()
    print(f"{watch.sweeps} sweeps, {watch.looks} looks at a process")
    assert {(here, "plain", "cmdline"), (there, "plain", "environ"), (inside, "hexadecimal", "cmdline")} <= watch.seen


def roots(stage: Stage) -> list[Path]:
    """Everything that is written to here and in the worlds; /tmp has the test's own folders, Ansible's among them."""
    found = [Path(path) for path in EVERYWHERE] + [REPOSITORY / "inventory", REPOSITORY / ".cache"]
    for cluster in {account.cluster.name: account.cluster for account in stage.accounts}.values():
        found += [cluster.world.root / path[1:] for path in (*EVERYWHERE, *cluster.site.mounts)]
    return [path for path in found if path.exists()]


def places(stage: Stage, key: str, since: float) -> set[str]:
    """Every file in which any form of the key shows."""
    return {path for root in roots(stage) for path, _seen in files_with_leaks(root, since, key)}


def targets(stage: Stage) -> set[str]:
    """The files that are to hold the key."""
    return {str(one.path(path)) for one in stage.accounts for path in PLACES if one.exists(path)}


@exhaustive  # it looks at every file and process of the machine, again and again
def test_no_key_is_anywhere_but_where_it_belongs(stage: Stage, tmp_path: Path) -> None:
    """Let go, the old key is nowhere. The new one is in the targets, in the keyring, and in the file it was given in.

    The keyring's file shows nothing (it is encrypted); the registry of the test keeps the keys in its memory alone.
    """
    since = time.time() - 60  # when the accounts were set up with the old key
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    assert places(stage, stage.old, since) == targets(stage), "the search finds every file that holds the old key"
    with Watch([stage.old, new]) as watch:
        said = stage.rotate("-vvvv", "--diff", key=new)
        stage.registry.revoke(stage.old)
        said_too = stage.rotate("-vvvv", "--diff", rotate_resume=True, rotate_retired=True)
    print(f"{watch.sweeps} sweeps over all processes, {watch.looks} looks at one")
    assert (said.code, said_too.code) == (0, 0), said.text[-2000:] + said_too.text[-2000:]
    assert watch.seen == set()
    for key in (stage.old, new):
        assert leaks(said.text.encode(), key) == []
        assert leaks(said_too.text.encode(), key) == []
    assert settled(stage, new)
    assert places(stage, stage.old, since) == set()
    assert places(stage, new, since) == {*targets(stage), str(stage.folder / "new-key")}
    assert stage.keyring("ngc") == ""
    assert new in ring_values(stage)
    assert stage.old not in ring_values(stage)


def ring_values(stage: Stage) -> set[str]:
    """Everything that the keyring holds, asked for by every name that the records know."""
    state = stage.folder / "state" / "hpc.onboard" / "ledger.jsonl"
    versions = {part.split('"')[0] for part in state.read_text().split('"version":"')[1:]}
    return {stage.keyring(name) for name in ("ngc", *(f"ngc@{version}" for version in versions if version))}


def test_no_program_that_a_rotation_starts_gets_a_key(stage: Stage, tmp_path: Path) -> None:
    """Every execve here and on the clusters, with whole arguments and environment: nothing is too short to be seen."""
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    servers = {account.cluster.name: server_of(account) for account in stage.accounts}
    records = [tmp_path / f"programs-{name}" for name in servers]
    # No shared connection: strace would wait for the one that ssh keeps open.
    alone: dict[str, Any] = {**stage.environment, "ANSIBLE_SSH_ARGS": "-o ControlMaster=no"}
    traced = stage._replace(environment=alone)
    with contextlib.ExitStack() as stack:
        for pid, record in zip(servers.values(), records, strict=True):
            stack.enter_context(recorded(pid, PROGRAMS, record))
        ran = traced.rotate(key=new, programs=traced_ansible(tmp_path, tmp_path / "programs-here"))
    assert ran.code == 0, ran.text
    for record in (*records, tmp_path / "programs-here"):
        seen = record.read_bytes()
        assert seen.count(b"execve(") > 3, record
        assert leaks(seen, stage.old) + leaks(seen, new) == []
