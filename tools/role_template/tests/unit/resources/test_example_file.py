# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of example_files: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

from account_scene import Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._formats.origin_mark import add_mark
from resource_tables import Case, judge, table

TEXT = "# the first line\nhello\n"
OURS = Plain(add_mark(TEXT).encode())
OLD = Plain(add_mark("# the first line\nold\n").encode())
EDITED = Plain(OURS.content + b"mine\n")
PUT = {"path": "~/file", "content": TEXT}
OUT = {"path": "~/file", "state": "absent"}


@table(
    Case("a missing file is made", {}, PUT, "missing", left={"~/file": OURS}),
    Case("a file is left alone", {"~/file": OURS}, PUT, "ok"),
    Case("an older one of ours is replaced", {"~/file": OLD}, PUT, "different", left={"~/file": OURS}),
    Case("a file of the user's is kept", {"~/file": Plain(b"mine\n")}, PUT, "blocked", "not ours"),
    Case("a file changed by hand is kept", {"~/file": EDITED}, PUT, "blocked", "changed by hand"),
    Case("a folder in the way is kept", {"~/file": Folder()}, PUT, "blocked", "is a folder"),
    Case("our file is taken out", {"~/file": OLD}, OUT, "extra", left={"~/file": None}),
    Case("nothing is taken out twice", {}, OUT, "ok"),
    Case("a file of the user's is not taken out", {"~/file": Plain(b"mine\n")}, OUT, "blocked", "not ours"),
)
def test_example_file(scene: Scene, case: Case) -> None:
    judge(scene, "example_file", case)
