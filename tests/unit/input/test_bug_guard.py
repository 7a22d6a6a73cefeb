# SPDX-License-Identifier: GPL-3.0-or-later
"""A bug in what shows results: it is reported, and nobody is asked to agree to what was not shown."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.verdict import BugGuard


def test_a_run_goes_on_after_a_bug_and_knows_it() -> None:
    said: list[str] = []
    guard = BugGuard(said.append, lambda: False)
    with guard:
        said.append("shown")
    assert not guard.has_bug
    with guard:
        raise ValueError("a secret")
    assert guard.has_bug
    assert said[0] == "shown"
    assert said[1].startswith("A result cannot be shown: a bug in hpc.onboard: ValueError in test_bug_guard.py:")


def test_a_reader_that_has_seen_enough_is_no_bug() -> None:
    guard = BugGuard(lambda _text: None, lambda: False)
    with pytest.raises(BrokenPipeError), guard:
        raise BrokenPipeError
    assert not guard.has_bug


def test_a_preview_ends_at_a_bug() -> None:
    with pytest.raises(SystemExit) as ended, BugGuard(lambda _text: None, lambda: True):
        raise ValueError
    assert ended.value.code == 2


def test_a_full_disk_below_the_output_is_no_bug() -> None:
    said: list[str] = []
    guard = BugGuard(said.append, lambda: False)
    with guard:
        raise OSError(28, "whatever")
    assert said == ["A result cannot be shown: No space left on device"]
    assert guard.has_bug, "the run ends with an error"
