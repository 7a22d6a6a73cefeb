# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine knows of the engine that an account keeps: a cache, which is never in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.kept_engines import KnownEngine

ACCOUNT, SOURCES, DIGEST = "ada@dfki", "1" * 64, "2" * 64
KEEP = {"work": "reconcile", "engine": "keep"}
DROP = {"work": "reconcile", "engine": "drop"}
FILE: Any = {"engine": {"python": "cpython-36", "digest": DIGEST}}
NONE: Any = {"engine": None}


def known(sources: str = SOURCES) -> KnownEngine:
    return KnownEngine(ACCOUNT, sources)


def wishes(plan: dict[str, str], sources: str = SOURCES) -> bool:
    return "engine" in known(sources).drop_needless_request(plan)


def test_it_is_asked_for_once_for_each_version_of_the_sources(state: Path) -> None:
    assert wishes(KEEP)
    known().note_answer(KEEP, FILE)
    assert known().digests == {"cpython-36": DIGEST}
    assert not wishes(KEEP)
    assert wishes(KEEP, "3" * 64)
    assert known("3" * 64).digests == {}


def test_an_account_that_cannot_keep_it_is_not_asked_again(state: Path) -> None:
    known().note_answer(KEEP, NONE)
    assert (known().digests, wishes(KEEP)) == ({}, False)


@pytest.mark.parametrize("work", ["examine", "preview", "follow"])
def test_a_run_that_may_change_nothing_wishes_nothing(state: Path, work: str) -> None:
    assert not wishes({**KEEP, "work": work})
    known().note_answer({**KEEP, "work": work}, NONE)
    assert wishes(KEEP)


def test_a_file_that_was_not_found_is_asked_for_again_and_another_python_adds_its_own(state: Path) -> None:
    known().note_answer(KEEP, FILE)
    known().note_gone()
    assert (known().digests, wishes(KEEP)) == ({}, True)
    known().note_answer(KEEP, {"engine": {"python": "cpython-311", "digest": SOURCES}})  # type: ignore[typeddict-item]
    assert known().digests == {"cpython-36": DIGEST, "cpython-311": SOURCES}


def test_to_drop_it_is_always_asked_since_another_machine_may_keep_it(state: Path) -> None:
    assert wishes(DROP)
    known().note_answer(KEEP, FILE)
    known().note_answer(DROP, NONE)
    assert (known().digests, wishes(KEEP), wishes(DROP)) == ({}, True, True)


@pytest.mark.parametrize("content", ["", "{", '{"schema": "hpc.onboard/kept-engine/9.0"}', '{"files": {"a": "../x"}}'])
def test_a_damaged_file_or_one_of_another_format_counts_as_missing(state: Path, content: str) -> None:
    known().note_answer(KEEP, FILE)
    (file,) = (state / "engines").iterdir()
    file.write_text(content)
    assert (known().digests, wishes(KEEP)) == ({}, True)
    known().note_answer(KEEP, FILE)
    assert known().digests == {"cpython-36": DIGEST}
