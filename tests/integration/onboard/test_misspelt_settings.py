# SPDX-License-Identifier: GPL-3.0-or-later
"""A setting that is misspelt is one error wherever it is said, before anything is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import sample
from tests.integration.runs import REPOSITORY

ACCOUNTS = "plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n  ada@lrz: {}\n"
EVERY = [
    (playbook, where)
    for playbook in ("onboard", "audit", "offboard", "rotate_ngc")
    for where in ("-e", "group_vars/all", "group_vars/lrz", "vars:")
]


@pytest.mark.parametrize(("playbook", "where"), sample(EVERY, 3, "misspelt settings"))
def test_a_misspelt_setting_of_a_role_is_one_error_and_nothing_is_touched(
    playbook: str, where: str, tmp_path: Path
) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text(ACCOUNTS.replace("{}", "{vars: {conda_wantd: true}}") if where == "vars:" else ACCOUNTS)
    if "/" in where:
        (tmp_path / "group_vars").mkdir()
        (tmp_path / f"{where}.yml").write_text("conda_wantd: true\n")
    more = ["-e", "conda_wantd=true"] if where == "-e" else []
    more += ["-e", "offboard_sure=true"] if playbook == "offboard" else []
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), f"{playbook}.yml", "-i", str(file), *more],
        cwd=REPOSITORY,
        env={**os.environ, "HOME": str(tmp_path), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, shown
    assert 'unknown setting conda_wantd; did you mean "conda_wanted"?' in shown
    assert not (tmp_path / ".sandbox").exists() or not list((tmp_path / ".sandbox").rglob(".*rc")), shown
