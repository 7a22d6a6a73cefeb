# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens by name: the one that is replaced, and every other byte as it was."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._resources.token_file import replace_token


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", ""),
        ("[a]\nhf_token = hf_old\n", "[a]\nhf_token = hf_new\n"),
        ("[a]\r\nhf_token=hf_old \r\n", "[a]\r\nhf_token=hf_new \r\n"),
        ("[a]\nhf_token = hf_older\nnote = hf_old\n", "[a]\nhf_token = hf_older\nnote = hf_old\n"),
        ("[a]\nhf_token = hf_old\n[b]\nhf_token: hf_old", "[a]\nhf_token = hf_new\n[b]\nhf_token: hf_new"),
    ],
)
def test_the_old_token_is_replaced_and_nothing_else(text: str, left: str) -> None:
    assert replace_token(text, "hf_old", "hf_new") == left
