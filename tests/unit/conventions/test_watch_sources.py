# SPDX-License-Identifier: GPL-3.0-or-later
"""The watch on the texts that profiles rest on: each kind of change is reported, and a rewrapped text is none."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tools import watch_sources
from tools.watch_sources import Clone, Watched, check, find_form, learn

HOST = "docs.example.org"
TEXT = "# Storage\n\nEach user has **50 GB** of space.\nScratch files go after 30 days.\n"
FACTS = {"home.bytes": 50 * 10**9, "storage.scratch.purge.days": 30}
CHANGES = {
    "rewrapped": (TEXT.replace("user has", "user\nhas"), ""),
    "another value": (TEXT.replace("50 GB", "40 GB"), "attic home.bytes: the sentence in .* is missing"),
    "gone": (TEXT.replace("Scratch files go after 30 days.", ""), "storage.scratch.purge.days: the sentence"),
    "a warning": (f"{TEXT}\nThe cluster will be decommissioned in May.\n", "new warning: the cluster will be"),
}


def write(folder: Path, name: str, text: str) -> Clone:
    """Write a text into a repository, and return its clone as a new run opens it."""
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    (folder / "docs" / name).write_text(text, encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "."]):
        subprocess.run([*git, *words], check=True)
    return Clone(folder)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    watched = [
        Watched(f"attic {name}", HOST, "/storage/", re.compile(find_form(name, value))) for name, value in FACTS.items()
    ]
    monkeypatch.setattr(watch_sources, "list_watched", lambda: iter(watched))
    return learn({HOST: write(tmp_path, "storage.md", TEXT)})


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_reported(tmp_path: Path, kept: Any, name: str) -> None:
    text, expected = CHANGES[name]
    lines = check({HOST: write(tmp_path, "storage.md", text)}, kept)
    assert lines[-1] == "2 facts reached, 0 not reached"
    assert (re.search(expected, "\n".join(lines[:-1])) is not None) if expected else lines[:-1] == []


def test_a_page_that_moved_and_a_clone_that_is_missing_are_reported(tmp_path: Path, kept: Any) -> None:
    (tmp_path / "docs" / "storage.md").rename(tmp_path / "storage.md")
    lines = check({HOST: write(tmp_path, "other.md", "Other.")}, kept)
    assert lines[0] == f"{HOST} docs/storage.md: the page is missing; maybe it was moved to storage.md"
    assert check({}, kept) == [
        "not reached: attic: home.bytes, storage.scratch.purge.days",
        "0 facts reached, 2 not reached",
    ]


def test_a_fact_whose_profile_changed_is_reported(tmp_path: Path, kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = [Watched("attic home.bytes", HOST, "/storage/", re.compile(find_form("home.bytes", 10**12)))]
    monkeypatch.setattr(watch_sources, "list_watched", lambda: iter(changed))
    assert "a different value" in check({HOST: Clone(tmp_path)}, kept)[0]
