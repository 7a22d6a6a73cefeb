# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers on an account as a person says them."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._scan.amounts import format_count, format_size


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (123456, "123 kB"),
        (4.7e13, "47.0 TB"),
        (5e15, "5000 TB"),
    ],
)
def test_sizes_in_words(number: float, words: str) -> None:
    assert format_size(number) == words


def test_one_is_no_several() -> None:
    assert [format_count(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
