# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation replaces a key where it is held and nowhere else; and without its ledger no command claims too much."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import COMMAND, Ran, onboard, play
from tests.testbed.registry import PRIVATE, new_key

from .rotation_scene import Stage, settled, staged

pytestmark = [pytest.mark.testbed, turns(2)]

FILE = "enroot/.credentials"
OTHER = "nvapi-" + "o" * 64


@pytest.fixture
def two(bed: Any, tmp_path: Path) -> Iterator[Stage]:
    """Two accounts that hold the old key, each in one file."""
    with staged(bed, tmp_path, ("lrz", "dfki")) as stage:
        yield stage


def allowed(stage: Stage) -> str:
    """Return a new key that the registry accepts."""
    key = new_key()
    stage.registry.allow(key, [PRIVATE])
    return key


def words(ran: Ran) -> str:
    """Return the output in one line."""
    return " ".join(ran.text.split())


def offboarded(stage: Stage, *accounts: Any) -> Ran:
    """Offboard these accounts."""
    file = str(stage.bed.accounts_file(accounts))
    order = ("-i", file, "-e", "offboard_sure=true")
    return play(stage.bed, *order, playbook="offboard.yml", environment=stage.environment)


def onboarded(stage: Stage) -> Ran:
    """Onboard all accounts again."""
    return onboard(stage.bed, *stage.accounts, environment=stage.environment)


def status(stage: Stage) -> str:
    """Return what `hpc-onboard status` shows, in one line."""
    order = [COMMAND, "status", "-i", str(stage.bed.accounts_file(stage.accounts))]
    environment = {**stage.bed.client.environment(), **stage.environment}
    ran = subprocess.run(order, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return " ".join((ran.stdout + ran.stderr).split())


def with_key(account: Any, old: str, new: str) -> None:
    """Put another key in place of one by hand."""
    assert account.ssh(f"sed -i s/{shlex.quote(old)}/{new}/ {FILE}").returncode == 0


# -- where a key is held -----------------------------------------------------------------------


def test_a_rotation_creates_nothing_on_an_account_that_was_offboarded(two: Stage) -> None:
    new, gone = allowed(two), two.accounts[1]
    assert offboarded(two, gone).code == 0
    before = gone.tree()
    ran = two.rotate(key=new)
    print(ran.text)
    assert ran.code == 0, ran.text
    assert gone.tree() == before
    assert "✗" not in ran.text
    assert f"{gone.name}:enroot_credential the file is missing or does not contain the key 'ngc'" in words(ran).replace(
        ": ", " "
    ).replace("  ", " ")
    assert set(two.held(two.accounts[0])) == {new}
    assert onboarded(two).code == 0
    assert settled(two, new)
    two.registry.revoke(two.old)
    ended = two.rotate(rotate_resume=True, rotate_retired=True)
    assert ended.code == 0, ended.text
    assert offboarded(two, *two.accounts).code == 0
    assert [two.held(account) for account in two.accounts] == [[], []]


def test_a_rotation_of_a_key_that_no_account_holds_changes_nothing(two: Stage) -> None:
    assert offboarded(two, *two.accounts).code == 0
    before = [account.tree() for account in two.accounts]
    ran = two.rotate(key=allowed(two))
    assert ran.code == 2, ran.text
    assert "no account has the key 'ngc'" in words(ran)
    assert [account.tree() for account in two.accounts] == before


def test_an_account_that_is_onboarded_while_a_rotation_is_open_is_rotated_with_the_others(two: Stage) -> None:
    new, late, odd = allowed(two), two.accounts[1], two.accounts[0]
    assert offboarded(two, late).code == 0
    odd.ssh(f"ln {FILE} enroot/second-name")
    assert two.rotate(key=new).code == 2
    assert onboarded(two).code == 0
    assert set(two.held(late)) == {two.old}
    odd.ssh("rm enroot/second-name")
    ended = two.rotate(rotate_resume=True)
    assert settled(two, new), ended.text
    assert ended.code == 0, ended.text


def test_a_key_that_hpc_onboard_does_not_know_is_left_and_the_account_not_called_verified(two: Stage) -> None:
    new, odd = allowed(two), two.accounts[1]
    with_key(odd, two.old, OTHER)
    before = odd.read(FILE)
    ran = two.rotate(key=new)
    print(ran.text)
    assert ran.code == 2, ran.text
    assert odd.read(FILE) == before
    assert "a key that hpc-onboard does not know" in words(ran)
    assert set(two.held(two.accounts[0])) == {new}
    ended = two.rotate(rotate_resume=True, rotate_excuse=f"{odd.name}:enroot_credential")
    assert ended.code == 0, ended.text
    assert odd.read(FILE) == before


# -- without its main process --------------------------------------------------------------------


def waiting(pid: int) -> bool:
    """Return True while a process waits for what comes through a pipe."""
    return Path(f"/proc/{pid}/wchan").read_text().endswith("pipe_read")


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for a condition, and fail where it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.005)


def test_a_worker_whose_main_process_was_killed_holds_the_rotation_no_longer(two: Stage) -> None:
    new, lock = allowed(two), ledger(two).with_name("secrets") / "ngc.rotation.lock"
    run = two.begun(new, "new-key", rotate_levels=["token"])
    until(lambda: ledger(two).exists() and '"step":"take"' in ledger(two).read_text())
    os.kill(run.pid, signal.SIGSTOP)  # so that the question for the last day of the key is not answered
    worker = int(lock.read_text().partition(", process ")[2].partition(",")[0])
    until(lambda: waiting(worker))
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    until(lambda: not Path(f"/proc/{worker}").exists(), 5)
    ended = two.rotate(rotate_resume=True, rotate_levels=["token"])
    assert ended.code == 0, ended.text
    assert settled(two, new)


# -- without the ledger ------------------------------------------------------------------------


def ledger(stage: Stage) -> Path:
    """Return the path of the ledger."""
    return Path(stage.environment["XDG_STATE_HOME"]) / "hpc.onboard" / "ledger.jsonl"


def moved_away(stage: Stage) -> None:
    """Move the ledger away, as the message about a damaged one says."""
    for path in (ledger(stage), ledger(stage).with_suffix(".head")):
        path.rename(stage.folder / path.name)


def test_an_open_rotation_goes_on_after_its_ledger_was_moved_away(two: Stage) -> None:
    new, odd = allowed(two), two.accounts[1]
    odd.ssh(f"ln {FILE} enroot/second-name")
    assert two.rotate(key=new).code == 2
    odd.ssh("rm enroot/second-name")
    bit_flipped(ledger(two))
    assert "The ledger of rotations is damaged" in status(two)
    assert (onboarded(two).code, two.rotate(rotate_resume=True).code) == (2, 2)
    moved_away(two)
    assert "--resume" in status(two)
    seen = onboarded(two)
    assert "rotate_resume=true" in words(seen)
    assert [set(two.held(account)) for account in two.accounts] == [{new}, {two.old}]
    ended = two.rotate(rotate_resume=True)
    assert settled(two, new), ended.text
    assert ended.code == 0, ended.text
    two.registry.revoke(two.old)
    last = two.rotate(rotate_resume=True, rotate_retired=True)
    assert (last.code, "clean; nothing is left to do" in words(last)) == (0, True), last.text
    assert two.keyring("ngc") == ""


def test_a_settled_rotation_whose_ledger_was_moved_away_asks_every_account_again(two: Stage) -> None:
    new, odd = allowed(two), two.accounts[1]
    assert two.rotate(key=new).code == 0
    moved_away(two)
    with_key(odd, new, two.old)
    odd.ssh(f"ln {FILE} enroot/second-name")
    ran = two.rotate(rotate_resume=True)
    assert ran.code == 2, ran.text
    assert odd.name in words(ran)
    assert "deactivate the old key" not in words(ran)
    odd.ssh("rm enroot/second-name")
    ended = two.rotate(rotate_resume=True)
    assert settled(two, new), ended.text
    assert "deactivate the old key" in words(ended)


def bit_flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def removed(path: Path) -> None:
    path.unlink()


def removed_with_head(path: Path) -> None:
    path.unlink()
    path.with_suffix(".head").unlink()


@pytest.mark.parametrize("damage", [bit_flipped, cut, emptied, removed, removed_with_head])
def test_a_damaged_ledger_does_not_silence_that_the_old_key_is_not_proven_dead(
    two: Stage, damage: Callable[[Path], None]
) -> None:
    assert two.rotate(key=allowed(two)).code == 0
    damage(ledger(two))
    seen = onboarded(two)
    assert seen.code == 0, seen.text
    for text in (words(seen), status(two)):
        assert "The old key of 'ngc', replaced" in text
        assert "may still work" in text
        assert "hpc-onboard ledger verify" in text.replace("\\ ", "")
        assert "he ledger" in text
