# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key in netrc: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from account_scene import Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._resources.netrc_entry import NetrcEntry
from resource_tables import Case, FileCases, judge, table

FILE = "~/.netrc"
WANDB: dict[str, Any] = {"machine": "api.wandb.ai", "password": "w-new"}
ENTRY = b"machine api.wandb.ai\n  login user\n  password w-new\n"
OTHER = b"# mine \xff\nmachine github.com login me password x\n"
entry = FileCases(FILE, {}, WANDB)


@table(
    Case("the first key is written", {}, WANDB, "missing", left={FILE: Plain(ENTRY, 0o600)}),
    entry("a key is left alone", OTHER + ENTRY, "ok"),
    entry("an old key is replaced in place", ENTRY.replace(b"new", b"old") + OTHER, "different", left=ENTRY + OTHER),
    entry("an entry is added and foreign bytes stay", OTHER, "missing", left=OTHER + ENTRY),
    entry("doubles go", ENTRY + OTHER + ENTRY, "different", left=ENTRY + OTHER),
    entry("a wrong mode is put right", ENTRY, "different", left=ENTRY, mode=0o644),
    entry(
        "an entry behind a default is brought before it",
        b"default login a password b\n" + ENTRY,
        "different",
        left=ENTRY + b"default login a password b\n",
    ),
    entry(
        "a binary file is kept", b"\0" + ENTRY, "blocked", "~/.netrc: the file contains a NUL byte, so it is not a text"
    ),
    entry("an entry is taken out", OTHER + ENTRY, "extra", left=OTHER, password=None, state="absent"),
    entry("what we made is taken out whole", ENTRY, "extra", left=b"", password=None, state="absent"),
)
def test_netrc_entry(scene: Scene, case: Case) -> None:
    judge(scene, "netrc_entry", case)


def test_a_home_behind_a_link_takes_an_entry_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "root")
    home = scene.at("~")
    real = home.with_name("real")
    home.rename(real)
    home.symlink_to(real.name)
    found = [scene.run({"kind": "netrc_entry", **WANDB})[0] for _run in range(2)]
    assert [one["status"] for one in found] == ["missing", "ok"], found[0]["reason"]
    assert (real / ".netrc").read_bytes() == ENTRY


def test_an_entry_that_the_former_text_lacks_is_taken_out_and_no_none_is_written() -> None:
    key = NetrcEntry({**WANDB, "path": FILE, "login": "user", "password": None, "state": "absent"})
    assert key.restore_entry((OTHER + ENTRY).decode("latin-1"), "# mine\n") == OTHER.decode("latin-1")
