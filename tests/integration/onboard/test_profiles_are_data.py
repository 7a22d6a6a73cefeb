# SPDX-License-Identifier: GPL-3.0-or-later
"""A word in a cluster's profile runs nothing on this machine: not by ssh, not by a template, not in doctor.yml."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.runs import REPOSITORY

PROFILE = """\
format: 2
id: attic
name: CSCS Daint (Alps)
status: own
sources:
  - id: manual
    url: https://docs.cscs.ch/storage/filesystems/
    what: storage
    read: 2026-11-21
login:
  host: daint.alps.cscs.ch
  jump:
    host: ela.cscs.ch
home:
  path: /users/{user}
storage:
  - name: scratch
    variable: $SCRATCH
container:
  runtime: enroot
quota_command: quota
"""
ATTACKS = {
    "options of ssh in the user of the jump host": (
        "    host: ela.cscs.ch\n",
        '    host: ela.cscs.ch\n    user: "x@localhost -F {folder}/config -o ProxyJump=x"\n',
    ),
    "an option of ssh as the host": ("  host: daint.alps.cscs.ch\n", "  host: -F{folder}/config\n"),
    "a line more in the host": ("  host: daint.alps.cscs.ch\n", '  host: "daint.alps.cscs.ch\\n"\n'),
    "a template as the name": ("name: CSCS Daint (Alps)\n", "name: \"{{{{ lookup('pipe', 'touch {mark}') }}}}\"\n"),
    "a template in a note": (
        "    what: storage",
        "    what: \"{{{{ lookup('pipe', 'touch {mark}') }}}}\" # ",
    ),
    "a program as the command for quotas": ("quota_command: quota\n", "quota_command: touch {mark}\n"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_is_refused_by_file_and_line_or_is_only_words(attack: str, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    old, new = ATTACKS[attack]
    (tmp_path / "ours").mkdir()
    text = PROFILE.replace(old, new.format(folder=tmp_path, mark=mark))
    (tmp_path / "ours" / "attic.yml").write_text(text)
    (tmp_path / "config").write_text(f'Match exec "touch {mark}"\n  Hostname 127.0.0.1\n  Port 1\n')
    file = tmp_path / "accounts.yml"
    file.write_text("plugin: hpc.onboard.accounts\nprofiles: [ours]\naccounts:\n  ada@attic: {}\n")
    for playbook in ("doctor.yml", "onboard.yml"):
        said = _play(playbook, file, more="sandbox: true\n" if playbook != "doctor.yml" else "")
        assert not mark.exists(), f"{playbook} ran it"
        if "template" not in attack:
            line = next(at for at, each in enumerate(text.splitlines(), 1) if each not in PROFILE.splitlines())
            assert f"attic.yml:{line}: " in said


def _play(playbook: str, file: Path, more: str) -> str:
    """What a run over that accounts file prints; more: lines at the top of the file."""
    own = file.with_name("run.yml")
    own.write_text(more + file.read_text())
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(own)],
        cwd=REPOSITORY,
        env={**os.environ, "HOME": str(file.parent), "COLUMNS": "500"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return " ".join((done.stdout + done.stderr).split())
