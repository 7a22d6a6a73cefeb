# SPDX-License-Identifier: GPL-3.0-or-later
"""offboard(onboard(x)) = x, whatever happens to either: a kill or an error at any call that changes something.

The whole command runs on the account, with its receipt; the answer is lost, so that this machine knows nothing of what
was made there. Then everything is taken out again, at once or after a second run of the same, and what lay there before
must lie there again: names, kinds, targets, bytes. Modes that were too open for a key stay tightened.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.effort import EXHAUSTIVE, sample

from .harness import ERRNOS, TREE, Tree, Writer, snapshot, writing
from .scenes import FOREIGN, SECRET, credential, directory, environment, link, put, script
from .sweep import exposed

sys.path.insert(0, str(TREE / "collections"))
plans = importlib.import_module("ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan")
offboarding = importlib.import_module("ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding")

NETRC = {"path": "~/.netrc", "machine": "api.wandb.ai", "login": "user", "password": SECRET}
AGREED = {"replace": True}  # of a thing of the user's in its place
WANTED = [
    {**link(), **AGREED},
    credential(),
    {"kind": "netrc_entry", "options": NETRC, **AGREED},
    {"kind": "token_file", "options": {"path": "~/.cache/huggingface/token", "password": SECRET}},
    {"kind": "directory", "options": {**directory()["options"], "path": "/data/me/a/b/cache"}},
    {**script(), **AGREED},
    environment(),
]
CLUSTER = "wilson"


class Home(NamedTuple):
    """What lies on the account before us, and the umask that the command runs with."""

    name: str
    build: Callable[[Path], None]
    umask: int


def _bare(home: Path) -> None:
    (home.parents[1] / "data/me").mkdir(parents=True)


def _lived_in(home: Path) -> None:
    _bare(home)
    put(home / ".config/enroot/.credentials", FOREIGN, 0o600)
    put(home / ".config/mine", "mine")
    put(home / ".netrc", "machine example.org login me password mine\n", 0o600)
    put(home / "dotfiles/bashrc", "# mine, \xff\r\ncase $- in *i*) ;; *) return;; esac\nalias ll='ls -l'", 0o640)
    (home / ".bashrc").symlink_to("dotfiles/bashrc")
    put(home / "bin/other", "#!/bin/sh\n", 0o755)
    (home.parents[1] / "data/me/a").mkdir()


def _different(home: Path) -> None:
    _bare(home)
    put(home / "links/work/notes", "mine", 0o640)
    put(home / "bin/usrun.sh", "#!/bin/sh\nsrun $@\n", 0o700)
    put(home / ".netrc", "machine api.wandb.ai login me password another\n", 0o640)


REPLACED = Home("a home with other things", _different, 0o022)
HOMES = (
    Home("bare home", _bare, 0o022),
    Home("lived-in home", _lived_in, 0o077),
    Home("umask 000", _bare, 0),
    REPLACED,
)


def entries() -> list[dict[str, Any]]:
    """What is declared."""
    return [{"capability": "faults", **one} for one in WANTED]


def plan(writer: Writer, declared: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The plan that the controller makes of it."""
    return {
        **writer.plan([]),
        "receipt": True,
        "cluster": CLUSTER,
        "resources": plans.Plan.of(declared, str).entries,
        **more,
    }


def leaving(writer: Writer) -> dict[str, Any]:
    """The plan of an offboarding that knows what is noted there now."""
    said = writer.run(plan(writer, [], work="examine"))
    notes = {key: json.loads(text) for key, text in said["receipt"]["notes"].items()}
    return plan(writer, offboarding.plan_removal(entries(), entries(), notes, CLUSTER), only_made=True)


WAYS: dict[str, Callable[[Writer], dict[str, Any]]] = {
    "onboarding": lambda writer: plan(writer, entries()),
    "offboarding": leaving,
}


def laid_out(writer: Writer, home: Home) -> Tree:
    """A fresh account; what lies there."""
    home.build(writer.fresh())
    return snapshot(writer.root)


def offboarded(writer: Writer) -> list[Any]:
    """Take everything out as the action does that knows nothing from before; what failed."""
    said: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    asked: list[Any] = []
    while True:
        going = offboarding.plan_removal(entries(), entries(), notes, CLUSTER)
        if asked and not offboarding.has_more(going, asked):
            return [one for one in said["outcomes"] if one["reason"]] + [said["error"]] * bool(said["error"])
        asked = going
        said = writer.run(plan(writer, going, only_made=True))
        notes = {key: json.loads(text) for key, text in said["receipt"]["notes"].items()}


def different(before: Tree, now: Tree) -> Iterator[str]:
    """What is not as it was, but for modes that a key needs."""
    for path in sorted(before.keys() | now.keys()):
        old, new = before.get(path), now.get(path)
        if old is None or new is None or old._replace(mode=0) != new._replace(mode=0):
            yield f"{path} was {old}, and is {new}"


def set_up(writer: Writer, home: Home, way: str) -> Tree:
    """A fresh account, which is set up already where it is to be offboarded; what lay there before."""
    before = laid_out(writer, home)
    if way == "offboarding":
        writer.run(plan(writer, entries()), home.umask)
    return before


def calls(writer: Writer, home: Home, way: str) -> int:
    """How many calls of a run change something; without a fault all is taken out again without a trace."""
    before = set_up(writer, home, way)
    number, _answer = writer.run_with(WAYS[way](writer), 0, "", home.umask)
    again = writer.run(plan(writer, entries()))
    assert {one["status"] for one in again["outcomes"]} <= {
        "ok",
        *({"missing"} if way == "offboarding" else ()),
        *({"different"} if way == "offboarding" and home is REPLACED else ()),
    }, again["error"]
    assert offboarded(writer) == []
    assert list(different(before, snapshot(writer.root))) == []
    return number


def broken(writer: Writer, home: Home, way: str, at: int, what: str) -> Iterator[str]:
    """What is left of a run with this fault; every second one is followed by one without."""
    before = set_up(writer, home, way)
    number, answer = writer.run_with(WAYS[way](writer), at, what, home.umask)
    if number < at:
        yield f"the fault was not injected: {number} calls, {answer}"
    yield from exposed(snapshot(writer.root))
    if at % 2:
        writer.run(WAYS[way](writer))
    problems = offboarded(writer)
    if problems:
        yield f"offboarding said {problems}"
    yield from different(before, snapshot(writer.root))


@pytest.mark.parametrize("home", HOMES, ids=[home.name for home in HOMES])
@pytest.mark.parametrize("what", ["KILL", "errors"])
@pytest.mark.parametrize("way", WAYS)
def test_what_an_ended_run_left_is_taken_out(
    way: str, home: Home, what: str, count: Callable[[str, int, int], None]
) -> None:
    with writing() as writer:
        moments = sample(list(range(1, calls(writer, home, way) + 1)), 10, home.name, way, what)
        each = 2 if EXHAUSTIVE else 1
        faults = [
            (at, one)
            for at in moments
            for one in (["KILL"] if what == "KILL" else [ERRNOS[(at + more * 5) % len(ERRNOS)] for more in range(each)])
        ]
        found = [f"{fault}: {text}" for fault in faults for text in broken(writer, home, way, *fault)]
    kind = "killed" if what == "KILL" else "disturbed by an error"
    count(f"{way}s {kind} ({home.name}), then offboarded", len(faults), len(found))
    assert not found, "\n" + "\n".join(found)
