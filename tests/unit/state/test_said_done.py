# SPDX-License-Identifier: GPL-3.0-or-later
"""What persons said that they did."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import said_done
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.record import StepMark

MARK: StepMark = {"at": "2026-11-22T10:00:00Z", "by": "ada@desk"}


def test_it_is_kept_until_it_is_taken_back(state: Path) -> None:
    assert said_done.marks() == {}
    assert said_done.say("a@lrz", "vpn", MARK)
    assert not said_done.say("a@lrz", "vpn", MARK)
    assert said_done.marks() == {"a@lrz": {"vpn": MARK}}
    assert stat.S_IMODE((state / said_done.FILE).stat().st_mode) == 0o600
    assert said_done.say("a@lrz", "vpn", None)
    assert not said_done.say("a@lrz", "vpn", None)
    assert said_done.marks() == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is damaged"),
        ('{"schema": "hpc.onboard/steps/1.0", "accounts": {"a": {"b": "c"}}}', "is damaged"),
        ('{"schema": "hpc.onboard/steps/2.0", "accounts": {}}', "newer hpc.onboard"),
    ],
)
def test_what_is_damaged_or_newer_is_said_and_stays(state: Path, text: str, said: str) -> None:
    said_done.say("a@lrz", "vpn", MARK)
    (state / said_done.FILE).write_text(text)
    for work in (said_done.marks, lambda: said_done.say("a@lrz", "vpn", MARK)):
        with pytest.raises(StateError, match=said):
            work()
    assert (state / said_done.FILE).read_text() == text
