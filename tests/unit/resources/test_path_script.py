# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A script on PATH: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from account_scene import Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.dry_run import DryRunHost
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._formats.origin_mark import add_mark
from ansible_collections.hpc.onboard.plugins.module_utils._resources.path_script import PathScript
from resource_tables import Case, judge, table

SCRIPT = "#!/bin/sh\necho hello\n"
OURS = Plain(add_mark(SCRIPT).encode(), 0o755)
OLD = Plain(add_mark("#!/bin/sh\necho old\n").encode(), 0o755)
EDITED = Plain(OURS.content + b"echo mine\n", 0o755)
BIN = {"~/bin": Folder()}
PUT = {"path": "~/bin/hello", "content": SCRIPT}
OUT = {"path": "~/bin/hello", "state": "absent"}


@table(
    Case("a missing script is made", {}, PUT, "missing", left={"~/bin": Folder(), "~/bin/hello": OURS}),
    Case("a script is left alone", {**BIN, "~/bin/hello": OURS}, PUT, "ok"),
    Case("an older one of ours is replaced", {**BIN, "~/bin/hello": OLD}, PUT, "different", left={"~/bin/hello": OURS}),
    Case(
        "a mode is put right",
        {**BIN, "~/bin/hello": Plain(OURS.content, 0o600)},
        PUT,
        "different",
        left={"~/bin/hello": OURS},
    ),
    Case(
        "a script of the user's is kept",
        {**BIN, "~/bin/hello": Plain(b"#!/bin/sh\n")},
        PUT,
        "blocked",
        "not created by hpc-onboard",
    ),
    Case("a script changed by hand is kept", {**BIN, "~/bin/hello": EDITED}, PUT, "blocked", "changed by hand"),
    Case("a link in the way is kept", {**BIN, "~/bin/hello": Link("/bin/true")}, PUT, "blocked", "is a link"),
    Case("a folder in the way is kept", {**BIN, "~/bin/hello": Folder()}, PUT, "blocked", "is a folder"),
    Case(
        "a binary in the way is kept",
        {**BIN, "~/bin/hello": Plain(b"\x7fELF\xff\0")},
        PUT,
        "blocked",
        "not created by hpc-onboard",
    ),
    Case("a file where the folder belongs is kept", {"~/bin": Plain(b"x")}, PUT, "blocked", "~/bin is not a folder"),
    Case("a dangling folder link is kept", {"~/bin": Link("/gone")}, PUT, "blocked", "~/bin is a broken link"),
    Case(
        "a linked folder is used",
        {"~/dot": Folder(), "~/bin": Link("dot")},
        PUT,
        "missing",
        left={"~/dot/hello": OURS},
    ),
    Case("our script is taken out", {**BIN, "~/bin/hello": OLD}, OUT, "extra", left={"~/bin/hello": None}),
    Case("nothing is taken out twice", BIN, OUT, "ok"),
    Case("a changed script is not taken out", {**BIN, "~/bin/hello": EDITED}, OUT, "blocked", "changed by hand"),
    Case(
        "a script of the user's is not taken out",
        {**BIN, "~/bin/hello": Plain(b"x")},
        OUT,
        "blocked",
        "not created by hpc-onboard",
    ),
)
def test_path_script(scene: Scene, case: Case) -> None:
    judge(scene, "path_script", case)


def test_slurm_checks_the_text_that_a_run_would_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sbatch").write_text("#!/bin/sh\ngrep -q minutes=1 || { echo too long; exit 1; }\necho fits\n")
    (tmp_path / "sbatch").chmod(0o755)
    (tmp_path / "job.sh").write_text(add_mark(f"{SCRIPT}minutes=1\n"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for minutes, verdict in ((1, "accept ~/job.sh: fits"), (99, "reject ~/job.sh: too long")):
        host = DryRunHost(Host(Account(str(tmp_path), "/bin/sh", {}), bytes(16)))
        options = {"path": "~/job.sh", "content": f"{SCRIPT}minutes={minutes}\n", "asks": "sbatch --test-only"}
        script = PathScript({"state": "present", **options}).with_expanded_paths(host)
        script.apply(host)
        assert script.remarks(host) == [f"Slurm would {verdict}"]
