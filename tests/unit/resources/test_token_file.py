# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that is a token: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from account_scene import Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._resources.token_file import replace_token
from resource_tables import Case, FileCases, judge, table

FILE = "~/.cache/huggingface/token"
STORED = "~/.cache/huggingface/stored_tokens"
BY_NAME = b"[laptop]\nhf_token = %s\n\n[other]\nhf_token = hf_other\n"
FOLDERS = {"~/.cache": Folder(0o700), "~/.cache/huggingface": Folder(0o700)}
TOKEN: dict[str, Any] = {"password": "hf_new"}
token = FileCases(FILE, FOLDERS, TOKEN)


@table(
    Case("the first token is written", {}, TOKEN, "missing", left={**FOLDERS, FILE: Plain(b"hf_new", 0o600)}),
    token("a token is left alone", b"hf_new\n", "ok"),
    token("an old token is replaced", b"hf_old", "different", left=b"hf_new"),
    token("an empty file is filled", b"", "missing", left=b"hf_new"),
    token("a wrong mode is put right", b"hf_new", "different", left=b"hf_new", mode=0o644),
    token("a file that is no token is kept", b"dear diary\n", "blocked", "more than one word"),
    token("a token is taken out", b"hf_old", "extra", left=b"", password=None, state="absent"),
    Case(
        "a token is taken out of the tokens by name, too, and no other token",
        {**FOLDERS, FILE: Plain(b"hf_new\n", 0o600), STORED: Plain(BY_NAME % b"hf_new", 0o600)},
        {"state": "absent"},
        "extra",
        left={FILE: None, STORED: Plain(BY_NAME % b"", 0o600)},
    ),
    Case("what is absent stays so", {}, {"state": "absent"}, "ok"),
)
def test_token_file(scene: Scene, case: Case) -> None:
    judge(scene, "token_file", case)


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
def test_of_the_tokens_by_name_the_old_one_is_replaced_and_nothing_else(text: str, left: str) -> None:
    assert replace_token(text, "hf_old", "hf_new") == left
