# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a key that cannot be one, whoever's it is."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats.key_forms import NVAPI
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.key_faults import find_fault
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import COMMON_KEY

GOOD = "nvapi-" + "k" * 64


@pytest.mark.parametrize("key", [GOOD, "hf_" + "a" * 34, "ghp_of-another-registry", "0" * 40, "dckr_pat_x"])
def test_nothing_is_wrong_with_a_whole_key_and_with_another_registrys(key: str) -> None:
    assert find_fault(key) is None


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (GOOD[:-1], "too short"),
        (GOOD + "k", "too long"),
        (GOOD[:-1] + "+", "a character that is not allowed in NGC keys"),
        (GOOD[:9] + "\n" + GOOD[9:], "white space"),
        (GOOD + "\n", "white space"),
        ("", "empty"),
        ("hf_short", "too short; Hugging Face keys that begin with hf_ have 37 to 67"),
        ("$(date)", "begins with $"),
    ],
)
def test_a_malformed_key_is_told_in_words_that_do_not_hold_it(key: str, said: str) -> None:
    fault = find_fault(key) or ""
    assert said in fault
    assert not key or key not in fault


def test_the_key_that_is_not_looked_at_closely_is_a_whole_one() -> None:
    assert COMMON_KEY.pattern == NVAPI.pattern
