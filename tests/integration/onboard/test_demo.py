# SPDX-License-Identifier: GPL-3.0-or-later
"""The first thing that somebody sees: on a screen and a half, and its last command does something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.integration.runs import REPOSITORY

GNU_ONLY = (
    r"stat -L?c|-printf|sed -i|sed -E|readlink|\bexpand\b|realpath|grep -P|mktemp -|date -d|xargs -r|\btac\b|head -n -"
)


def run(*order: str, state: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the demo in the checkout, on a machine that remembers nothing else."""
    keyring = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", "COLUMNS": "80", "LANG": "C.UTF-8"}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"HOME": str(state), "XDG_STATE_HOME": str(state), "PATH": path, **keyring}
    return subprocess.run(order, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)


def test_the_demo_fits_a_screen_and_a_half_and_leaves_something_to_do(tmp_path: Path) -> None:
    for _turn in range(2):  # whatever is there from before
        done = run("tools/demo", state=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) <= 36
        assert [line for line in lines if len(line) > 80] == []
        audit, onboard = (line.split() for line in lines[-2:])
        drifted = run(*audit, state=tmp_path)
        assert (drifted.returncode, "link ~/work" in drifted.stdout) == (2, True), drifted.stdout + drifted.stderr
        then = run(*onboard, "-l", "wilson", state=tmp_path)
        assert "1 account: 1 changed" in then.stdout, then.stdout + then.stderr


def test_what_a_mac_runs_first_has_no_option_of_gnu_alone() -> None:
    """BSD's tools lack these; make there is 3.81, bash 3.2."""
    for file in ("tools/demo", "tools/find-python", "scripts/hpc-onboard"):
        text = (REPOSITORY / file).read_text(encoding="utf-8").replace('to=$(readlink "$here")', "")  # BSD has that
        assert re.findall(GNU_ONLY, text) == [], file
        assert "declare -A" not in text
        assert "mapfile" not in text
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert re.findall(GNU_ONLY, makefile) == []
    assert not re.search(r"sed [^\n]*\\t", makefile), "a t, to BSD's sed"
