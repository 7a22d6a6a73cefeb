# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users have set up before: recognised for certain or left, and nothing is run or written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.existing_setup import ExistingSetup
from ansible_collections.hpc.onboard.plugins.module_utils._scan import launcher_text
from audit_check_runs import run_check

SIF = Plain(b"#!/usr/bin/env run-singularity\n\0SIF_MAGIC\x0001")
USRUN = b'#!/bin/bash\nsrun -K --mem=64GB \\\n  -p batch --time=60 "$@"\n'
WORDS = ["-K", "--mem=64GB", "-p batch", "--time=60"]


def folders(*paths: str) -> dict[str, Thing]:
    """Folders with those above them."""
    found: dict[str, Thing] = {}
    for path in paths:
        parts = path.split("/")
        found |= {"/".join(parts[:at]): Folder() for at in range(2, len(parts) + 1)}
    return found


def conda(prefix: str, **files: Thing) -> dict[str, Thing]:
    """A conda that would leave a trace if anybody ran it."""
    made: dict[str, Thing] = {**folders(*(f"{prefix}/{one}" for one in ("conda-meta", "bin", "etc/profile.d")))}
    made[f"{prefix}/conda-meta/history"] = Plain(b"==> 2024 <==\n")
    made[f"{prefix}/etc/profile.d/conda.sh"] = Plain(b"")
    made[f"{prefix}/bin/conda"] = files.get("conda", Plain(b"#!/bin/sh\ntouch /tmp/conda-was-run\n", 0o755))
    return made


@pytest.mark.parametrize(
    ("claim", "tree", "found"),
    [
        ("nothing", {}, []),
        ("a conda in an area", conda("/work/p/anaconda"), [("conda", "/work/p/anaconda", "", False)]),
        ("a conda in the home", conda("~/mc"), [("conda", f"{HOME}/mc", "", True)]),
        ("an environment alone", {**folders("/work/p/e/conda-meta"), "/work/p/e/conda-meta/history": Plain(b"")}, []),
        ("a conda that is a link", conda("/work/p/c", conda=Link("/bin/true")), []),
        (
            "a variable, through one of the site's",
            {**folders("/scratch/hf"), "~/.bashrc": Plain(b"export HF_HOME=$SCRATCH/hf\n")},
            [("variable", "/scratch/hf", "HF_HOME", False)],
        ),
        ("an image of enroot", {"~/a.sqsh": Plain(b"hsqs1")}, [("image", f"{HOME}/a.sqsh", "", True)]),
        ("an image of Apptainer", {"/work/p/i.sif": SIF}, [("image", "/work/p/i.sif", "", False)]),
        ("files that only have the names", {"~/a.sqsh": Plain(b"h"), "~/b.sif": Plain(b"hsqs")}, []),
        (
            "a launcher on PATH of interactive shells",
            {
                **folders("~/scripts"),
                "~/scripts/usrun.sh": Plain(USRUN, 0o755),
                "~/.bashrc": Plain(b"PATH=~/scripts:$PATH\n"),
            },
            [("launcher", f"{HOME}/scripts/usrun.sh", "usrun.sh", True)],
        ),
        ("a launcher that no shell finds", {**folders("~/x"), "~/x/usrun.sh": Plain(USRUN, 0o755)}, []),
    ],
)  # fmt: skip
def test_what_is_recognised(claim: str, tree: dict[str, Thing], found: list[Any], tmp_path: Path) -> None:
    report = look(tmp_path, tree)
    assert [(one["what"], one["path"], one["name"], one["in_home"]) for one in things(report)] == found, claim
    assert report.found == {}
    assert not Path("/tmp/conda-was-run").exists()


def test_what_is_not_certain_is_left_with_a_line(tmp_path: Path) -> None:
    text = b"export HF_HOME=/a\nif true; then\n  export HF_HOME=/b\nfi\nexport PIP_CACHE_DIR=$(mktemp -d)\n"
    text += b"export TORCH_HOME=/gone\n"
    report = look(tmp_path, {"~/.bashrc": Plain(text)})
    assert things(report) == []
    assert report.remarks == [
        "HF_HOME in ~/.bashrc:3 was skipped: hpc-onboard cannot determine the value",
        "PIP_CACHE_DIR in ~/.bashrc:5 was skipped: hpc-onboard cannot determine the value",
        "TORCH_HOME in ~/.bashrc:6 was skipped: the folder does not exist",
    ]


def test_a_launchers_options_are_read_for_certain_or_not_at_all() -> None:
    assert launcher_text.find_srun_options(USRUN.decode()) == WORDS
    assert launcher_text.find_srun_options("#srun -n 1 x\nexec srun -- x") == []
    assert launcher_text.find_srun_options("srun 'unclosed") == []
    spaced = "srun -M inter --partition cm4 --time 60 --pty bash -i"
    assert launcher_text.find_srun_options(spaced) == ["-M inter", "--partition=cm4", "--time=60", "--pty"]
    assert launcher_text.expand_folder("~/bin", {"HOME": "/h"}) == "/h/bin"
    assert launcher_text.expand_folder("$OTHER/bin", {"HOME": "/h"}) == ""


def look(tmp_path: Path, tree: dict[str, Thing]) -> Any:
    """What the check finds."""
    scene = Scene(tmp_path / "a")
    scene.environment = {"SCRATCH": "/scratch", "PATH": "/usr/bin"}
    scene.make({**folders("/work/p"), **{path: one for path, one in tree.items() if path != "~"}})
    options = {"areas": [{"path": "/work/p"}], "variables": ["HF_HOME", "PIP_CACHE_DIR", "TORCH_HOME"]}
    return run_check(scene, ExistingSetup, programs=[{"path": "~/bin/usrun.sh"}], **options)


def things(report: Any) -> list[dict[str, Any]]:
    """What is reported as recognised."""
    found: list[dict[str, Any]] = report.document["evidence"].get("existing", [])
    return found
