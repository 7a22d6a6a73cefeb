# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept of the engine runs on accounts: only what the user alone can have written there is taken."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import engine_parts, packing, payload

from tests.effort import turns

pytestmark = turns(3)


@pytest.fixture(scope="module")
def first_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of a first run, which takes seconds to pack the engine."""
    cache = tmp_path_factory.mktemp("first") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        payload.load_engine.cache_clear()
        payload.load_engine()
    return cache


@pytest.fixture
def kept(first_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the file of the parts, made by a first run."""
    shutil.copytree(first_cache, tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    payload.load_engine.cache_clear()
    yield engine_parts.cache_file()
    payload.load_engine.cache_clear()


def taken() -> engine_parts.EngineParts | None:
    """What the next run takes."""
    return engine_parts.read_cache(engine_parts.hash_sources())


def test_the_next_run_takes_what_is_kept_and_packs_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = payload.load_engine()
    monkeypatch.setattr(packing, "pack_engine", None)
    payload.load_engine.cache_clear()
    assert payload.load_engine() == first
    assert kept.stat().st_mode & 0o7777 == 0o600
    assert kept.parent.stat().st_mode & 0o7777 == 0o700
    assert [one.name for one in kept.parent.iterdir()] == [kept.name]


def to_link(kept: Path) -> None:
    """Put a link in its place."""
    kept.rename(kept.with_name("moved"))
    kept.symlink_to("moved")


def folder_to_link(kept: Path) -> None:
    """Put a link in its folder's place."""
    kept.parent.rename(kept.parent.with_name("moved"))
    kept.parent.symlink_to("moved")


def to_pipe(kept: Path) -> None:
    """Put a pipe in its place, which a reader would wait for."""
    kept.unlink()
    os.mkfifo(kept, 0o600)


DISTRUSTED: dict[str, Callable[[Path], object]] = {
    "others may write it": lambda kept: kept.chmod(0o620),
    "others may read it": lambda kept: kept.chmod(0o604),
    "others may write in its folder": lambda kept: kept.parent.chmod(0o720),
    "a link": to_link,
    "a folder behind a link": folder_to_link,
    "a pipe": to_pipe,
    "cut": lambda kept: kept.write_bytes(kept.read_bytes()[:-100]),
    "empty": lambda kept: kept.write_bytes(b""),
    "one byte differs": lambda kept: kept.write_bytes(kept.read_bytes()[:-9] + b"x" + kept.read_bytes()[-8:]),
    "of other sources": lambda kept: kept.write_bytes(b"0" * 64 + kept.read_bytes()[64:]),
    "gone": lambda kept: kept.unlink(),
}


@turns(4)
@pytest.mark.parametrize("why", DISTRUSTED)
def test_what_cannot_be_trusted_is_not_taken(why: str, kept: Path) -> None:
    assert taken() == payload.load_engine()
    DISTRUSTED[why](kept)
    assert taken() is None


@pytest.mark.skipif(os.getuid() != 0, reason="gives files away")
@pytest.mark.parametrize("which", ["file", "folder"])
def test_what_belongs_to_somebody_else_is_not_taken(which: str, kept: Path) -> None:
    os.chown(kept if which == "file" else kept.parent, 65534, -1)
    assert taken() is None


def test_other_sources_have_another_seal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seal = engine_parts.hash_sources()
    for position, source in enumerate(engine_parts.SOURCES[:3]):
        changed = tmp_path / source.name
        changed.write_bytes(source.read_bytes() + b"\n")
        others = [one for one in engine_parts.SOURCES if one != source]
        monkeypatch.setattr(engine_parts, "SOURCES", [*others[:position], changed, *others[position:]])
        assert engine_parts.hash_sources() != seal
        monkeypatch.undo()


def test_where_nothing_can_be_kept_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    payload.load_engine.cache_clear()
    assert payload.load_engine()["engine"].startswith("#")
    payload.load_engine.cache_clear()
