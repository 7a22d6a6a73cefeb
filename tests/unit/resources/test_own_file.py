# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A text file of a person's own: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

import pytest
from account_scene import Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._options.file_options import LARGEST_TEXT
from ansible_collections.hpc.onboard.plugins.module_utils._resources.own_file import OwnFile
from resource_tables import Case, judge, table

TEXT = "channels: [conda-forge]\n"
SAME = Plain(TEXT.encode(), 0o644)
MINE = Plain(b"mine\n", 0o644)
PUT = {"path": "~/a/file", "content": TEXT}
OUT = {"path": "~/a/file", "state": "absent"}
A = {"~/a": Folder()}


@table(
    Case("a missing file is made", {}, PUT, "missing", left={"~/a": Folder(), "~/a/file": SAME}),
    Case(
        "its mode is as said",
        A,
        {**PUT, "mode": "0600"},
        "missing",
        left={"~/a/file": Plain(TEXT.encode(), 0o600)},
    ),
    Case("an empty file is a file", A, {**PUT, "content": ""}, "missing", left={"~/a/file": Plain(b"", 0o644)}),
    Case("one with the same text is left alone", {**A, "~/a/file": SAME}, PUT, "ok"),
    Case(
        "one with the same text that others may write is kept",
        {**A, "~/a/file": Plain(TEXT.encode(), 0o666)},
        PUT,
        "blocked",
        "already has the desired content, but its mode is 0666. Run chmod 0644 ~/a/file",
    ),
    Case("one with the same text for its owner serves", {**A, "~/a/file": Plain(TEXT.encode(), 0o600)}, PUT, "ok"),
    Case(
        "a file of the user's is kept",
        {**A, "~/a/file": MINE},
        PUT,
        "blocked",
        "not created by hpc-onboard: rename it",
    ),
    Case(
        "a file with the line of hpc-onboard is kept",
        {**A, "~/a/file": Plain(b". env.sh # hpc.onboard\nmine\n", 0o644)},
        PUT,
        "blocked",
        "contains the line of hpc-onboard",
    ),
    Case("a link in the way is kept", {**A, "~/a/file": Link("/etc/hosts")}, PUT, "blocked", "is a link"),
    Case("a folder in the way is kept", {**A, "~/a/file": Folder()}, PUT, "blocked", "is a folder"),
    Case(
        "a binary in the way is kept",
        {**A, "~/a/file": Plain(b"\x7fELF\xff\0")},
        PUT,
        "blocked",
        "not created by hpc-onboard",
    ),
    Case("a file where the folder belongs is kept", {"~/a": Plain(b"x")}, PUT, "blocked", "~/a is not a folder"),
    Case("nothing is taken out twice", A, OUT, "ok"),
    Case(
        "a file of the user's is not taken out",
        {**A, "~/a/file": MINE},
        OUT,
        "blocked",
        "not created by hpc-onboard",
    ),
    Case(
        "nor is one with the same text",
        {**A, "~/a/file": SAME},
        {**PUT, "state": "absent"},
        "blocked",
        "not created by hpc-onboard",
    ),
)
def test_own_file(scene: Scene, case: Case) -> None:
    judge(scene, "own_file", case)


@pytest.mark.parametrize("kind", ["own_file", "path_script"])
def test_what_a_file_of_the_users_holds_is_not_said(scene: Scene, kind: str) -> None:
    scene.make({**A, "~/a/file": Plain(b"#!/bin/sh\nexport TOKEN=canary\n")})
    assert "canary" not in str(scene.run({"kind": kind, **PUT, "content": "#!/bin/sh\n"}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"content": "a\0b"}, "not text"),
        ({"content": "x" * (LARGEST_TEXT + 1)}, "larger than 64 KiB"),
        ({"content": "ä" * (LARGEST_TEXT // 2 + 1)}, "larger than 64 KiB"),
        ({}, "missing or is not text"),
        ({"content": "x", "path": "~/.ssh/authorized_keys"}, "does not change .ssh"),
        ({"content": "x", "path": "~/../x"}, r"contains '\.\.'"),
    ],
)
def test_what_is_no_such_file_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(AccountError, match=words):
        OwnFile(OwnFile.with_defaults({"path": "~/a", **options}))
