# SPDX-License-Identifier: GPL-3.0-or-later
"""The places at a login host: as many hold one as it likes, all get one, and nobody waits where none can be noted."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import turns

PATIENCE = 20  # seconds, for a machine that is busy


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_no_more_than_a_login_host_likes_are_there_at_once() -> None:
    inside: list[int] = []
    seen: list[int] = []
    full = threading.Barrier(turns.MOST)  # broken by fewer, since each waits for the others

    def visit(number: int) -> None:
        with turns.hold_place("login.example.org"):
            inside.append(number)
            seen.append(len(inside))
            full.wait(PATIENCE)
            inside.remove(number)

    visits = [threading.Thread(target=visit, args=(number,)) for number in range(3 * turns.MOST)]
    for one in visits:
        one.start()
    for one in visits:
        one.join(PATIENCE)
    assert not any(one.is_alive() for one in visits)
    assert len(seen) == len(visits)
    assert max(seen) == turns.MOST
    assert not full.broken


def test_another_host_has_places_of_its_own() -> None:
    with ExitStack() as full:
        for _one in range(turns.MOST):
            full.enter_context(turns.hold_place("one.example.org"))
        waiting = threading.Thread(target=_visit, args=("one.example.org",))
        waiting.start()
        _visit("other.example.org")
        assert waiting.is_alive()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()


def test_nobody_waits_for_ever_for_one_who_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stopped:
        for _one in range(turns.MOST):
            stopped.enter_context(turns.hold_place("one.example.org"))
        monkeypatch.setattr(turns, "PATIENCE", 0.1)
        _visit("one.example.org")
        fcntl.flock(stopped.enter_context(_line("one.example.org")), fcntl.LOCK_EX)
        _visit("one.example.org")


@contextmanager
def _line(host: str) -> Iterator[int]:
    files = turns._open_files(host)
    yield files[0]
    for one in files:
        os.close(one)


def _visit(host: str) -> None:
    with turns.hold_place(host):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_without_locks_nobody_waits(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(_file: int, _wish: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    _visit("login.example.org")


def test_without_a_folder_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    _visit("login.example.org")
