# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person is told of each file, and why, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import messages
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import next_step
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import Rotation
from rotation_explore import TARGETS, take
from rotation_world import NAME, World

ONE, TWO = TARGETS[:2]


def fine(_: str, ways: Sequence[str]) -> str:
    """Everything goes well."""
    return ways[0]


def begun(last: str) -> tuple[Rotation, World]:
    """A rotation over two targets that has come to a step."""
    world = World(fine, targets=dict.fromkeys((ONE, TWO), "first"))
    rotation = Rotation(NAME, world, world, world, (ONE, TWO))
    rotation.begin("personal")
    while next_step(rotation.situation()).name != last:
        take(rotation, world, next_step(rotation.situation()))
    return rotation, world


def rows(rotation: Rotation) -> dict[str, tuple[str, str]]:
    """The status and the text of each target."""
    return {row["name"]: (row["status"], row["text"]) for row in messages.list_target_checks(rotation.situation(), ())}


def test_a_cancellation_says_which_files_may_have_the_new_key_and_how_it_ends_without_them() -> None:
    rotation, world = begun("spread")
    world.choose = lambda what, ways: "refused" if what == "install" else ways[0]
    rotation.take_step(next_step(rotation.situation()))
    world.choose, world.away = fine, ONE
    rotation.cancel()
    rotation.take_step(next_step(rotation.situation()))
    told = rows(rotation)
    assert told[TWO] == ("ok", "the rotation has not changed the file")
    assert told[ONE][0] == "warning"
    assert "could not be reached" in told[ONE][1]
    assert "may still have the new key" in told[ONE][1]
    step = next_step(rotation.situation())
    (row,) = messages.describe_remaining_work(rotation.situation(), step, "ngc", "", "").checks
    assert ONE in row["text"]
    assert "excuse" in row["text"]


def test_an_account_that_left_the_accounts_file_is_not_said_to_be_out_of_reach() -> None:
    rotation, world = begun("spread")
    world.away = TWO
    rotation = replace(rotation, targets=(ONE,))
    rotation.take_step(next_step(rotation.situation()))
    status, text = rows(rotation)[TWO]
    assert status == "warning"
    assert "accounts file" in text
    assert "could not be reached" not in text
    assert f"excuse={TWO}" in text or f"--excuse {TWO}" in text


def test_a_compromised_key_is_looked_for_beyond_the_accounts_of_this_rotation() -> None:
    rotation, _world = begun("spread")
    elsewhere = "me@gone:enroot_credential"
    first, second = messages.list_exposure_checks(rotation.situation(), {elsewhere, ONE})
    assert elsewhere in first["text"]
    assert ONE in first["text"]
    assert "me@gone" in second["text"]
    assert "onboard" in second["text"]
    assert len(messages.list_exposure_checks(rotation.situation(), {ONE})) == 1
