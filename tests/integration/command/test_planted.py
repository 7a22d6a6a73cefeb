# SPDX-License-Identifier: GPL-3.0-or-later
"""An accounts file that others could have put where somebody works: no command uses it, for it may run programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import COMMAND

pytestmark = pytest.mark.testbed

NOBODY = 65534
VERBS = ("onboard", "plan", "audit", "preflight", "connect", "status", "export-script", "joe@wilson")
TEXT = """\
plugin: hpc.onboard.accounts
accounts:
  joe@wilson: {{project: p1, vars: {{ansible_host: "{{{{ lookup('pipe', 'touch {mark}') }}}}"}}}}
"""


@pytest.mark.parametrize("planted", ["by somebody else", "where all may write", "where the group may write"])
def test_a_planted_accounts_file_is_used_by_no_command(bed: Any, tmp_path: Path, planted: str) -> None:
    folder, mark = tmp_path / "shared", tmp_path / "mark"
    folder.mkdir()
    file = folder / "accounts.yml"
    file.write_text(TEXT.format(mark=mark))
    if planted == "by somebody else":
        folder.chmod(0o1777)
        os.chown(file, NOBODY, NOBODY)
    else:
        os.chown(folder, 0, NOBODY)
        folder.chmod(0o777 if planted == "where all may write" else 0o775)
    environment = bed.client.environment()
    for verb in VERBS if planted == "by somebody else" else VERBS[:2]:
        ran = subprocess.run([COMMAND, verb], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 2, verb
        assert "accounts.yml, because " in ran.stderr, ran.stderr
    assert not mark.exists()


def test_a_named_accounts_file_that_others_may_write_is_used_with_a_warning(bed: Any, tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text("plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n  joe@wilson: {project: p1}\n")
    file.chmod(0o666)
    order = [COMMAND, "plan", "-i", str(file)]
    ran = subprocess.run(order, env=bed.client.environment(), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Warning: other users can write" in ran.stderr
