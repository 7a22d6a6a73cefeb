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

from .rotation_kills import DONE, Lane, keys_in
from .rotation_scene import elsewhere, staged

pytestmark = [pytest.mark.testbed, turns(2)]


@pytest.fixture
def machines(bed: Any, tmp_path: Path) -> Iterator[list[Lane]]:
    """Two, each with a state folder and a keyring of its own that holds the same old key."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with staged(bed, tmp_path / "one", ("lrz", "lrz", "wilson")) as stage:
        yield [Lane.of(stage), Lane.of(elsewhere(stage, tmp_path / "other"))]


def known_to(lane: Lane) -> dict[str, str]:
    """What the ledger of a machine says last of each target: a result, of the last rotation."""
    records = [json.loads(line) for line in (lane.state / "hpc.onboard" / "ledger.jsonl").read_text().splitlines()]
    return {one["target"]: one["result"] for one in records if one["target"] and one["step"] != "plan"}


def test_at_once_no_account_is_taken_from_the_other_and_one_gives_up(machines: list[Lane]) -> None:
    keys = [lane.begin() for lane in machines]
    old = machines[0].old
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda pair: pair[0].run(key=pair[1]), zip(machines, keys, strict=True)))
    held = [keys_in(content) for content, _mode in machines[0].files()]
    print([run.code for run in runs], [keys.index(*one) if one <= set(keys) else "old" for one in held])
    assert all(one in ({keys[0]}, {keys[1]}, {old}) for one in held), "a file holds two keys, or none"
    for lane, key, run in zip(machines, keys, runs, strict=True):
        assert run.code == (0 if lane.everywhere(key) else 2), run.text
        assert lane.stage.ledger_fits(lane.state)
        said = known_to(lane)
        for account, one in zip(lane.stage.accounts, held, strict=True):
            mine = [result for target, result in said.items() if target.startswith(f"{account.name}:")]
            assert (one == {key}) == (mine in (["verified"], ["installed"])), "its ledger says what is not so"
    first, second = sorted(zip(machines, keys, strict=True), key=lambda pair: -held.count({pair[1]}))
    given_up = second[0].run(rotate_give_up=True)
    assert "settled" not in given_up.text
    assert first[0].run(rotate_resume=True).code == 0
    assert first[0].everywhere(first[1])
    machines[0].stage.registry.revoke(old)
    ended = first[0].run(rotate_resume=True, rotate_retired=True)
    assert (ended.code, DONE in ended.text) == (0, True), ended.text
    assert first[0].everywhere(first[1])
    assert all(lane.stage.ledger_fits(lane.state) for lane in machines)


def test_a_new_key_that_is_revoked_too_is_noticed_and_nothing_is_touched(machines: list[Lane]) -> None:
    """Where a site has no way to the registry nobody but the machine can notice."""
    one = machines[0]
    first = one.begin()
    assert one.run(key=first).code == 0
    for gone in (one.old, first):
        one.stage.registry.revoke(gone)
    before = one.files()
    ran = one.run(rotate_resume=True, rotate_retired=True)
    print(ran.text)
    assert ran.code == 2, ran.text
    assert DONE not in ran.text
    assert one.files() == before
    assert one.first() == one.old, "what was not proven dead stays in the keyring"
