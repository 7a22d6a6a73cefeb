# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a colleague swaps in a shared area meanwhile, nothing of ours or of his is touched but what was meant."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.effort import EXHAUSTIVE, sample

from .harness import TREE
from .swapping import Area, Attack, Moment, area, contents, harm, taken_by

sys.path.insert(0, str(TREE / "collections"))
ROOM = "ansible_collections.hpc.onboard.plugins.module_utils."
accounts, hosts, resources = (
    importlib.import_module(f"{ROOM}_core.{name}") for name in ("account", "host", "resource")
)
errors = importlib.import_module(ROOM + "_core.errors")
jobs, specs, _conda = (importlib.import_module(f"{ROOM}_jobs.{name}") for name in ("job", "conda_spec", "conda"))
MOVES = 250_000 if EXHAUSTIVE else 12_500
DONE = 100  # operations that came about in spite of him, or the attack would prove nothing
BAITS = ("to-private", "theirs", "private", "to-file")

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="two user ids are needed")


def kind(module: str, name: str, **options: Any) -> Any:
    """A resource of that kind."""
    made = getattr(importlib.import_module(f"{ROOM}_resources.{module}"), name)
    return made(options)


def both_ways(where: Area, *ways: Callable[[str], Any]) -> int:
    """Set up and take out, by the very loop of a run, with a fresh look each time; how many came about."""
    done = 0
    for state in ("present", "absent"):
        for way in ways if state == "present" else reversed(ways):
            host = hosts.Host(accounts.Account(str(where.home), "/bin/sh", {}), b"key")
            try:
                resource = way(state).bound(host)
                resources.reconcile(resource, host)
                done += 1
            except (errors.AccountError, OSError):
                pass  # refused, and said; the engine catches both
    return done


def make(where: Area) -> int:
    """A folder directly in the shared area."""
    return both_ways(where, lambda state: folder(where, "new", state, "0755"))


def folder(where: Area, name: str, state: str, mode: str = "0700") -> Any:
    """A folder of the account's own there."""
    path = str(where.shared / name)
    return kind("directory", "Directory", path=path, root=str(where.shared), mode=mode, state=state)


def nested(where: Area) -> int:
    """Folders below the one of our own."""
    return both_ways(where, lambda state: folder(where, "me/a", state), lambda state: folder(where, "me/a/b", state))


def link(where: Area) -> int:
    """A link in the folder of our own, and one in the home to it."""

    def one(path: str) -> Callable[[str], Any]:
        return lambda state: kind("storage_link", "StorageLink", path=path, target=str(where.mine), state=state)

    return both_ways(where, one(f"{where.mine}/l"), one(f"{where.home}/l"))


def script(where: Area) -> int:
    """A script in a folder below our own."""

    def one(state: str) -> Any:
        return kind("path_script", "PathScript", path=f"{where.mine}/bin/x", content="#!/bin/sh\necho 1\n", state=state)

    return both_ways(where, one)


def removal(where: Area) -> int:
    """A conda in the folder of our own, laid there past all names, and taken out by a job that goes on by itself."""
    within = f"/proc/self/fd/{where.handle}"
    os.makedirs(f"{within}/c/bin", exist_ok=True)
    made = f"miniforge 26.1.1-3 for {os.uname().machine}"
    Path(within, "c", specs.MADE).write_text(made)
    asked = {"distribution": "miniforge", "version": "26.1.1-3", "installers": {}, "channels": [], "environments": []}
    options = {"prefix": str(where.mine / "c"), "proxies": {}, "state": "absent", **asked}
    host = hosts.Host(accounts.Account(str(where.home), "/bin/sh", {}), b"key")
    with suppress(errors.AccountError, OSError):
        resources.reconcile(kind("conda_install", "CondaInstall", **options).bound(host), host)
    while job_of(where.handle):
        time.sleep(0.002)
    return not os.path.exists(f"{within}/c")


def job_of(folder: int) -> bool:
    """Whether a job is at work there; one that ended without success is cleared away."""
    place = f"/proc/self/fd/{folder}/.c.hpc.onboard"
    progress = jobs.progress_of(place)
    if progress and "failed" in progress:
        shutil.rmtree(place)
        return False
    return progress is not None


WORKS = [(make, ("new", ".new.hpc.onboard-draft")), (nested, ("me",)), (link, ("me",)), (script, ("me",))]
IDS = ["folder", "nested", "link", "script"]
Contents = dict[str, dict[str, tuple[int, int, bytes]]]


def as_it_is(where: Area) -> Contents:
    """All that is watched."""
    return {name: contents(handle) for name, handle in where.watched.items()}


def harmed(where: Area, before: Contents) -> list[str]:
    """What was touched of it."""
    return [
        f"{name}: {text}"
        for name, handle in where.watched.items()
        for text in harm(before[name], handle, name == where.ours)
    ]


@pytest.mark.parametrize(("work", "names"), [*WORKS, (removal, ("me",))], ids=[*IDS, "removal"])
def test_a_colleague_who_swaps_names_moves_nothing_but_names(
    work: Callable[[Area], int], names: tuple[str, ...], count: Callable[[str, int, int], None]
) -> None:
    with area() as where:
        before = as_it_is(where)
        attack = Attack(where.shared, names, BAITS)
        try:
            done, enough = 0, DONE // (5 if work is removal else 1)  # a job has a process of its own
            while attack.moves < MOVES or done < enough:
                some, wrong = taken_by(where, lambda there: sum(work(there) for _ in range(10)))
                assert not wrong, wrong
                done += some
        finally:
            attack.end()
        found = harmed(where, before)
        moves = attack.moves
    count("names swapped by a colleague", moves, len(found))
    assert not found, "\n".join(found)


def calls_of(work: Callable[[Area], int]) -> int:
    """How many calls to the system it makes when nobody is there."""
    with area() as where:
        return taken_by(where, lambda there: _watched(work, there, Moment("", "", 0, 0)))[0]


def _watched(work: Callable[[Area], int], where: Area, moment: Moment) -> int:
    moment.watch()
    work(where)
    return moment.calls


@pytest.mark.parametrize(("work", "names"), WORKS, ids=IDS)
def test_no_moment_is_open_to_a_swap(
    work: Callable[[Area], int], names: tuple[str, ...], count: Callable[[str, int, int], None]
) -> None:
    moments = [
        (name, bait, at, back)
        for name in names
        for bait in BAITS
        for at in range(1, calls_of(work) + 1)
        for back in (1, 2, 4, 1_000_000)
    ]
    found, taken = [], sample(moments, 60, work.__name__)
    for name, bait, at, back in taken:
        with area() as where:
            before = as_it_is(where)
            moment = Moment(str(where.shared / name), str(where.shared / bait), at, back)
            _calls, wrong = taken_by(where, lambda there, moment=moment: _watched(work, there, moment))
            wrongs = [*harmed(where, before), *([wrong] if wrong else [])]
            found += [f"{bait} as {name} at call {at}, {back}: {text}" for text in wrongs]
    count("names swapped at a certain call", len(taken), len(found))
    assert not found, "\n".join(found)
