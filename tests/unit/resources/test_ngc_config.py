# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ngc program's key and its copy: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

from typing import Any

from account_scene import Folder, Plain, Scene
from resource_tables import Case, judge, table

FILE, COPY = "~/.ngc/config", "~/.ngc/config.BAK"
THERE = {"~/.ngc": Folder(0o700)}
KEY: dict[str, Any] = {"password": "nvapi-new"}
NO_KEY: dict[str, Any] = {"state": "absent"}
NEW = b"[CURRENT]\napikey = nvapi-new\n"
OLD = b";WARNING\n[CURRENT]\norg = nvidia\napikey = nvapi-old\n"
OURS = OLD.replace(b"old", b"new")


@table(
    Case("the first key is written", {}, KEY, "missing", left={**THERE, FILE: Plain(NEW, 0o600)}),
    Case(
        "a binary file is kept",
        {**THERE, FILE: Plain(OLD + b"\0", 0o600)},
        KEY,
        "blocked",
        "~/.ngc/config: the file contains a NUL byte, so it is not a text file: inspect the file, then rename it",
    ),
    Case("a key is left alone", {**THERE, FILE: Plain(OURS, 0o600)}, KEY, "ok"),
    Case(
        "an old key is replaced and other settings stay",
        {**THERE, FILE: Plain(OLD, 0o600)},
        KEY,
        "different",
        left={FILE: Plain(OURS, 0o600)},
    ),
    Case(
        "no other key is left in the copy",
        {**THERE, FILE: Plain(OURS, 0o600), COPY: Plain(OLD, 0o644)},
        KEY,
        "different",
        left={COPY: Plain(OURS, 0o600)},
    ),
    Case(
        "both are replaced at once",
        {**THERE, FILE: Plain(OLD, 0o600), COPY: Plain(OLD, 0o600)},
        KEY,
        "different",
        left={FILE: Plain(OURS, 0o600), COPY: Plain(OURS, 0o600)},
    ),
    Case(
        "a copy with the same key is left alone",
        {**THERE, FILE: Plain(OURS, 0o600), COPY: Plain(OURS, 0o644)},
        KEY,
        "ok",
    ),
    Case(
        "the key is taken out of both",
        {**THERE, FILE: Plain(OURS, 0o600), COPY: Plain(OLD, 0o600)},
        NO_KEY,
        "extra",
        left={
            FILE: Plain(b";WARNING\n[CURRENT]\norg = nvidia\n", 0o600),
            COPY: Plain(b";WARNING\n[CURRENT]\norg = nvidia\n", 0o600),
        },
    ),
    Case("what is absent stays so", {}, NO_KEY, "ok"),
)
def test_ngc_config(scene: Scene, case: Case) -> None:
    judge(scene, "ngc_config", case)
