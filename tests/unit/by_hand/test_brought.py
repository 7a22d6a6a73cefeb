# SPDX-License-Identifier: GPL-3.0-or-later
"""An answer that was brought back is taken only if it is of this account, to a file of this machine, whole, and new."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._engine.by_hand import sealed
from ansible_collections.hpc.onboard.plugins.plugin_utils._by_hand import brought
from ansible_collections.hpc.onboard.plugins.plugin_utils._by_hand.brought import read

EXPORT, ACCOUNT, SEAL = "0123456789abcdef", "ada@robot", "5e" * 32
TOLD = {"export": EXPORT, "account": ACCOUNT, "seal": SEAL}


def exports(*taken: dict[str, str]) -> Any:
    """What this machine remembers of the account."""
    return {"schema": "", "written": {EXPORT: {"made": "", "parts": {}}}, "brought": list(taken), "keys": {}}


def seal(_account: str, _export: str) -> bytes:
    """The key of the answers."""
    return bytes.fromhex(SEAL)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An answer as the program writes it."""
    path = tmp_path / "answer.json"
    path.write_bytes(sealed(TOLD, "onboard", "reconcile", {"error": "", "outcomes": []}))
    return path


def test_what_the_program_writes_is_read_and_its_seal_fits(file: Path) -> None:
    found = read(file)
    assert (found.export, found.account, found.part) == (EXPORT, ACCOUNT, "onboard")
    with pytest.raises(AccountError) as caught:
        found.checked("eve@robot", exports(), seal)
    assert "is of ada@robot, not of eve@robot" in str(caught.value)


def test_a_seal_of_another_key_is_a_changed_answer(file: Path) -> None:
    with pytest.raises(AccountError, match="was changed since it was written"):
        read(file).checked(ACCOUNT, exports(), lambda _account, _export: b"another")


def test_an_answer_to_a_file_that_was_not_written_here_is_refused(file: Path) -> None:
    with pytest.raises(AccountError, match="was not written here, or long ago"):
        read(file).checked(ACCOUNT, {**exports(), "written": {}}, seal)


def test_the_same_answer_and_an_older_one_are_refused(file: Path) -> None:
    found = read(file)
    mine = {"export": EXPORT, "part": "onboard", "run": found.run, "when": found.when, "taken": "2026-11-22"}
    with pytest.raises(AccountError, match="brought back before, on 2026-11-22"):
        found.checked(ACCOUNT, exports(mine), seal)
    with pytest.raises(AccountError, match="is older than one that was brought back before"):
        found.checked(ACCOUNT, exports({**mine, "run": "f" * 16, "when": "2099-01-01T00:00:00Z"}), seal)


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
    with pytest.raises(AccountError, match="was changed since it was written"):
        read(file).checked(ACCOUNT, exports(), seal)


STRANGE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a part that is none": lambda found: found.update(part="rotate"),
    "work that is not of the part": lambda found: found.update(work="foresee"),
    "an account with an escape": lambda found: found.update(account="ada\x1b[2J@robot"),
    "a seal that is none": lambda found: found.update(seal="x"),
    "no answer": lambda found: found.update(answer=[]),
    "no seal": lambda found: found.pop("seal"),
    "another document": lambda found: found.update(schema="hpc.onboard/receipt/1.0"),
}


@pytest.mark.parametrize("change", STRANGE)
def test_what_is_no_answer_is_said_to_be_none_without_its_words(file: Path, change: str) -> None:
    document = json.loads(file.read_text())
    STRANGE[change](document)
    file.write_text(json.dumps(document))
    with pytest.raises(AccountError, match="nothing was taken from it") as caught:
        read(file)
    assert "\x1b" not in str(caught.value)


def test_links_pipes_and_files_too_large_are_not_read(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(brought, "LARGEST", 10)
    for name, why in (("link", "is a link"), ("pipe", "not a plain file"), ("answer.json", "larger than any answer")):
        with pytest.raises(AccountError, match=why):
            read(tmp_path / name)
