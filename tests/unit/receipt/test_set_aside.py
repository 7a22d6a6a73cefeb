# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user set aside: said when the thing in its place is removed, and at no other time."""

from __future__ import annotations

from typing import Any

import pytest
from account_scene import Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._receipt.set_aside import advise_rename, describe_restore
from resource_tables import AREA

THINGS: list[dict[str, Any]] = [
    {"kind": "storage_link", "path": "~/it", "target": "/work/p"},
    {"kind": "own_file", "path": "~/it"},
    {"kind": "path_script", "path": "~/it"},
]


@pytest.mark.parametrize("thing", THINGS, ids=lambda one: str(one["kind"]))
def test_where_a_thing_is_gone_it_is_said_how_to_restore_what_was_set_aside(
    scene: Scene, thing: dict[str, Any]
) -> None:
    scene.make({**AREA, "~/it.mine": Folder()})
    gone = scene.life({**thing, "state": "absent"})
    assert gone[0]["remarks"] == ["~/it.mine may be your former ~/it: run `mv -n ~/it.mine ~/it` to restore it"]


def test_where_a_thing_is_to_be_created_nothing_is_said(scene: Scene) -> None:
    scene.make({**AREA, "~/it.mine": Folder()})
    assert scene.life(THINGS[0])[0]["remarks"] == []


@pytest.mark.parametrize("found", [{}, {"~/it": Plain(b"")}, {"~/it": Plain(b""), "~/it.mine": Plain(b"")}])
def test_nothing_is_said_where_nothing_was_set_aside_or_its_place_is_taken(scene: Scene, found: Any) -> None:
    scene.make(found)
    assert describe_restore(scene.whole("~/it"), scene.host()) == []


def test_a_name_is_written_as_a_shell_reads_it() -> None:
    assert advise_rename("~/a b") == "rename it (mv -n ~/'a b' ~/'a b.mine'), then run hpc-onboard again"
    assert advise_rename("~/;x") == "rename it (mv -n ~/';x' ~/';x.mine'), then run hpc-onboard again"
