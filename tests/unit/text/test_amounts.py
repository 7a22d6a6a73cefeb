# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers as a person says them."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.amounts import count, format_duration, format_progress


@pytest.mark.parametrize(
    ("done", "total", "unit", "said"),
    [
        (12_000_000, 98_000_000, "bytes", "12/98 MB"),
        (500, 2_000, "bytes", "0/2 kB"),
        (3_000_000_000, None, "bytes", "3 GB"),
        (3, 5, "steps", "3/5"),
        (3, None, "steps", "3"),
        (None, 5, "steps", ""),
        (0, 0, "bytes", "0 bytes"),
    ],
)
def test_amounts_are_said_in_units(done: int | None, total: int | None, unit: str, said: str) -> None:
    assert format_progress({"done": done, "total": total, "unit": unit}) == said


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0 s"), (59.9, "59 s"), (65, "1 min 05 s"), (7500, "2 h 05 min")])
def test_time_is_said_in_words(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


@pytest.mark.parametrize(("number", "said"), [(0, "0 accounts"), (1, "1 account"), (1200, "1,200 accounts")])
def test_things_are_counted_in_words(number: int, said: str) -> None:
    assert count(number, "account") == said
