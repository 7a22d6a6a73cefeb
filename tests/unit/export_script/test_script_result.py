# SPDX-License-Identifier: GPL-3.0-or-later
"""A result is imported only if it is of this account, of a script of this machine, intact, and new."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._engine.exported_script import seal_result
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script import script_result
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script.script_result import read_result

SCRIPT, ACCOUNT, SEAL = "0123456789abcdef", "ada@robot", "5e" * 32
DATA = {"script": SCRIPT, "account": ACCOUNT, "seal_key": SEAL}
KEY = bytes.fromhex(SEAL)


def known(*results: dict[str, str]) -> Any:
    """What this machine remembers of the account."""
    return {"schema": "", "scripts": {SCRIPT: {"made": "", "parts": {}}}, "results": list(results), "keys": {}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An answer as the program writes it."""
    path = tmp_path / "answer.json"
    path.write_bytes(seal_result(DATA, "onboard", "reconcile", {"error": "", "outcomes": []}))
    return path


def test_what_the_program_writes_is_read_and_its_seal_fits(file: Path) -> None:
    found = read_result(file)
    assert (found.script, found.account, found.part) == (SCRIPT, ACCOUNT, "onboard")
    with pytest.raises(AccountError) as caught:
        found.verify("eve@robot", known(), KEY)
    assert "is from ada@robot, not from eve@robot" in str(caught.value)


def test_a_seal_of_another_key_is_a_changed_result(file: Path) -> None:
    with pytest.raises(AccountError, match="was changed after it was written"):
        read_result(file).verify(ACCOUNT, known(), b"another")


def test_the_result_of_an_unknown_script_is_refused(file: Path) -> None:
    with pytest.raises(AccountError, match="is too old, or was not exported on this machine"):
        read_result(file).verify(ACCOUNT, {**known(), "scripts": {}}, KEY)


def test_the_same_result_and_an_older_one_are_refused(file: Path) -> None:
    found = read_result(file)
    mine = {"script": SCRIPT, "part": "onboard", "run": found.run, "when": found.when, "taken": "2026-11-22"}
    with pytest.raises(AccountError, match="already imported on 2026-11-22"):
        found.verify(ACCOUNT, known(mine), KEY)
    with pytest.raises(AccountError, match="a newer result"):
        found.verify(ACCOUNT, known({**mine, "run": "f" * 16, "when": "2099-01-01T00:00:00Z"}), KEY)


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another outcome": lambda found: found["answer"]["outcomes"].append({}),
    "another part": lambda found: found.update(part="audit", work="examine"),
    "another moment": lambda found: found.update(when="2026-01-01T00:00:00Z"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_breaks_the_seal(file: Path, change: str) -> None:
    document = json.loads(file.read_text())
    CHANGES[change](document)
    file.write_text(json.dumps(document))
    with pytest.raises(AccountError, match="was changed after it was written"):
        read_result(file).verify(ACCOUNT, known(), KEY)


STRANGE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a part that is none": lambda found: found.update(part="rotate"),
    "work that is not of the part": lambda found: found.update(work="preview"),
    "an account with an escape": lambda found: found.update(account="ada\x1b[2J@robot"),
    "a seal that is none": lambda found: found.update(seal="x"),
    "no answer": lambda found: found.update(answer=[]),
    "no seal": lambda found: found.pop("seal"),
    "another document": lambda found: found.update(schema="hpc.onboard/receipt/1.0"),
}


@pytest.mark.parametrize("change", STRANGE)
def test_what_is_not_a_result_is_refused_without_its_words(file: Path, change: str) -> None:
    document = json.loads(file.read_text())
    STRANGE[change](document)
    file.write_text(json.dumps(document))
    with pytest.raises(AccountError, match="Nothing was imported") as caught:
        read_result(file)
    assert "\x1b" not in str(caught.value)


def test_links_pipes_and_files_too_large_are_not_read(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(script_result, "LARGEST", 10)
    for name, why in (("link", "a symbolic link"), ("pipe", "not a regular file"), ("answer.json", "larger than")):
        with pytest.raises(AccountError, match=why):
            read_result(tmp_path / name)
