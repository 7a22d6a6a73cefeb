# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that is a token: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

from typing import Any

from account_scene import Folder, Plain, Scene
from resource_tables import Case, judge, table

FILE = "~/.cache/huggingface/token"
STORED = "~/.cache/huggingface/stored_tokens"
BY_NAME = b"[laptop]\nhf_token = %s\n\n[other]\nhf_token = hf_other\n"
FOLDERS = {"~/.cache": Folder(0o700), "~/.cache/huggingface": Folder(0o700)}
TOKEN: dict[str, Any] = {"password": "hf_new"}


def token(claim: str, content: bytes, status: str, reason: str = "", left: bytes | None = None, **given: Any) -> Case:
    """A case about the content of the file alone."""
    after = {} if left is None else {FILE: Plain(left, 0o600) if left else None}
    found = {**FOLDERS, FILE: Plain(content, given.pop("mode", 0o600))}
    return Case(claim, found, {**TOKEN, **given}, status, reason, after)


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
