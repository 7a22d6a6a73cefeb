# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tables of the resources have in common: a case, and how it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from account_scene import Folder, Plain, Scene, Thing, Tree
from ansible_collections.hpc.onboard.plugins.module_utils._core.values import FORMER as FOLDER

AREA = {"/work": Folder(), "/work/p": Folder(0o2775)}


class Case(NamedTuple):
    """One line of a table. left names what is different afterwards; None is gone."""

    claim: str
    found: Tree
    options: dict[str, Any]
    status: str
    reason: str = ""
    left: Mapping[str, Thing | None] = {}


class FileCases(NamedTuple):
    """Cases about the content of one file alone, in these folders, with the options that all of them have."""

    file: str
    folders: Tree
    options: dict[str, Any]

    def __call__(
        self, claim: str, content: bytes, status: str, reason: str = "", left: bytes | None = None, **given: Any
    ) -> Case:
        """A case; left is what the file holds afterwards, b'' that it is gone. given: its mode, and options."""
        found = {**self.folders, self.file: Plain(content, given.pop("mode", 0o600))}
        after = {} if left is None else {self.file: Plain(left, 0o600) if left else None}
        return Case(claim, found, {**self.options, **given}, status, reason, after)


def judge(scene: Scene, kind: str, case: Case) -> None:
    """Live the case, where keys may be replaced, and compare the whole tree with what was claimed."""
    scene.make(case.found)
    scene.replaces = True
    expected: dict[str, Thing | None] = {**scene.tree(), **{scene.whole(k): v for k, v in case.left.items()}}
    outcome = scene.life({"kind": kind, **case.options})[0]
    assert outcome["status"] == case.status, outcome["reason"]
    assert case.reason in (outcome["reason"] or "")
    assert bool(outcome["reason"]) == (case.status in ("blocked", "failed"))
    former = scene.whole(f"~/{FOLDER}")  # copies of what was replaced, which other tests are about
    there = {path: thing for path, thing in scene.tree().items() if not f"{path}/".startswith(f"{former}/")}
    above = set() if former not in scene.tree() else {str(one) for one in Path(former).parents} - expected.keys()
    assert {path: thing for path, thing in there.items() if path not in above} == {
        path: thing for path, thing in expected.items() if thing is not None
    }


def table(*cases: Case) -> pytest.MarkDecorator:
    """The cases as parameters, each under its claim."""
    return pytest.mark.parametrize("case", cases, ids=[case.claim.replace(" ", "-") for case in cases])
