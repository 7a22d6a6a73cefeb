# SPDX-License-Identifier: GPL-3.0-or-later
"""What persons said that they did."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import done_steps
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.record import StepMark

MARK: StepMark = {"at": "2026-11-22T10:00:00Z", "by": "ada@desk"}


def test_it_is_kept_until_it_is_taken_back(state: Path) -> None:
    assert done_steps.read_marks() == {}
    assert done_steps.set_mark("a@lrz", "vpn", MARK)
    assert not done_steps.set_mark("a@lrz", "vpn", MARK)
    assert done_steps.read_marks() == {"a@lrz": {"vpn": MARK}}
    assert stat.S_IMODE((state / done_steps.FILE).stat().st_mode) == 0o600
    assert done_steps.set_mark("a@lrz", "vpn", None)
    assert not done_steps.set_mark("a@lrz", "vpn", None)
    assert done_steps.read_marks() == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is damaged"),
        ('{"schema": "hpc.onboard/done-steps/1.0", "accounts": {"a": {"b": "c"}}}', "is damaged"),
        ('{"schema": "hpc.onboard/done-steps/2.0", "accounts": {}}', "newer hpc-onboard"),
    ],
)
def test_what_is_damaged_or_newer_is_said_and_stays(state: Path, text: str, said: str) -> None:
    done_steps.set_mark("a@lrz", "vpn", MARK)
    (state / done_steps.FILE).write_text(text)
    for work in (done_steps.read_marks, lambda: done_steps.set_mark("a@lrz", "vpn", MARK)):
        with pytest.raises(StateError, match=said):
            work()
    assert (state / done_steps.FILE).read_text() == text
