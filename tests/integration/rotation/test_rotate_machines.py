# SPDX-License-Identifier: GPL-3.0-or-later
"""Two machines that do not know of each other rotate the key of the same accounts: no file is torn and nobody lies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import FileRing

from .rotation_kills import DONE, Lane, keys_in
from .rotation_scene import Stage, staged

pytestmark = [pytest.mark.testbed, turns(2)]


@pytest.fixture
def machines(bed: Any, tmp_path: Path) -> Iterator[list[Lane]]:
    """Two, each with a state folder and a keyring of its own that holds the same old key."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with staged(bed, tmp_path / "one", ("lrz", "lrz", "wilson")) as stage:
        yield [Lane.of(stage), Lane.of(elsewhere(stage, tmp_path / "other"))]


def elsewhere(stage: Stage, folder: Path) -> Stage:
    """The same accounts, from another machine."""
    ring = FileRing(folder, stage.old)
    own = {"KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file), "XDG_STATE_HOME": str(folder / "state")}
    return stage._replace(ring=ring, folder=folder, environment={**stage.environment, **ring.env, **own})


def known_to(lane: Lane) -> dict[str, str]:
    """What the ledger of a machine says last of each target: a result, of the last rotation."""
    records = [json.loads(line) for line in (lane.state / "hpc.onboard" / "ledger.jsonl").read_text().splitlines()]
    return {one["target"]: one["result"] for one in records if one["target"] and one["step"] != "plan"}


def test_at_once_each_ledger_is_true_and_the_later_one_has_its_key_everywhere(machines: list[Lane]) -> None:
    keys = [lane.begin() for lane in machines]
    old = machines[0].old
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda pair: pair[0].run(key=pair[1]), zip(machines, keys, strict=True)))
    held = [keys_in(content) for content, _mode in machines[0].files()]
    print([run.code for run in runs], [keys.index(*one) if one <= set(keys) else "old" for one in held])
    assert all(one in ({keys[0]}, {keys[1]}, {old}) for one in held), "a file holds two keys, or none"
    for lane, key, run in zip(machines, keys, runs, strict=True):
        assert run.code in (0, 2), run.text
        assert lane.stage.ledger_fits(lane.state)
        said = known_to(lane)
        for account, one in zip(lane.stage.accounts, held, strict=True):
            mine = [result for target, result in said.items() if target.startswith(f"{account.name}:")]
            assert one != {key} or mine in (["verified"], ["installed"]), "its key is there and its ledger says not"
    machines[0].stage.registry.revoke(old)
    for lane, key in zip(machines, keys, strict=True):
        going_on = lane.run(rotate_resume=True)
        assert going_on.code == 0, going_on.text
        ended = lane.run(rotate_resume=True, rotate_retired=True)
        assert (ended.code, DONE in ended.text) == (0, True), ended.text
        assert lane.everywhere(key), "it said that nothing is left, and its key is not there"
        assert lane.stage.ledger_fits(lane.state)


def test_a_machine_whose_new_key_was_replaced_and_revoked_notices_and_touches_nothing(machines: list[Lane]) -> None:
    """Where a site has no way to the registry nobody but the machine can notice."""
    one, other = machines
    first, second = one.begin(), other.begin()
    assert one.run(key=first).code == 0
    assert other.run(key=second).code == 0
    for gone in (one.old, first):
        one.stage.registry.revoke(gone)
    before = one.files()
    ran = one.run(rotate_resume=True, rotate_retired=True)
    print(ran.text)
    assert ran.code == 2, ran.text
    assert DONE not in ran.text
    assert one.files() == before
    assert other.everywhere(second)
    assert one.first() == one.old, "what was not proven dead stays in the keyring"
    ended = other.run(rotate_resume=True, rotate_retired=True)
    assert (ended.code, DONE in ended.text) == (0, True), ended.text
