# SPDX-License-Identifier: GPL-3.0-or-later
"""An accounts file that is not there or is no text: one sentence with file and line, and exit 2, from everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import sample
from tests.integration.runs import REPOSITORY

ACCOUNTS = b"plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n"
FILES = {  # name, what it holds, and what is said of it
    "nowhere": (None, "{file}: file not found."),
    "latin": (ACCOUNTS + b"  ada@lrz:\n    project: gr\xfcn\n", "{file}:5: the file is not UTF-8: invalid byte 0xfc."),
    "tab": (ACCOUNTS + b"\tada@lrz: {}\n", "{file}:4: this is not valid YAML: the line is indented with a tab."),
    "zero": (
        ACCOUNTS + b"  ada@lrz: {}\n\x00",
        "{file}: this is not valid YAML: the file contains control characters. Save it as plain text.",
    ),
}
CALLS = (
    "onboard.yml",
    "audit.yml",
    "offboard.yml",
    "rotate_ngc.yml",
    "doctor.yml",
    "onboard",
    "ada",
    "audit",
    "doctor",
)
EVERY = [(name, called) for name in FILES for called in CALLS]


@pytest.mark.parametrize(("name", "called"), sample(EVERY, 4, "unreadable accounts"))
def test_a_file_that_cannot_be_read_is_one_sentence(name: str, called: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.yml"
    content, said = FILES[name]
    if content:
        file.write_bytes(content)
    program = ["ansible-playbook"] if called.endswith(".yml") else ["hpc-onboard"]
    done = subprocess.run(
        [str(Path(sys.executable).parent / program[0]), called, "-i", str(file)],
        cwd=REPOSITORY,
        env={**os.environ, "HOME": str(tmp_path), "COLUMNS": "500"},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, shown
    if program == ["hpc-onboard"] and name == "nowhere":
        assert shown == f"hpc-onboard: -i {file}: file not found"
    elif "doctor" in called and name != "nowhere":
        assert said.format(file=file).split(":")[-1].rstrip(".") in shown  # beside all else that it finds
    else:
        assert shown.startswith(f"[ERROR]: {said.format(file=file)}")
        assert len((done.stdout + done.stderr).strip().splitlines()) == 1, shown
