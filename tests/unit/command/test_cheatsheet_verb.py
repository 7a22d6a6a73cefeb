"""The verb cheatsheet: an account names its cluster, and what is wrong is said.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CLUSTERS = Path(__file__).parents[3] / "inventory" / "clusters"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("hpc-onboard")
    environment = {**os.environ, "COLUMNS": "80"}
    line = [sys.executable, command, "cheatsheet", *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=environment)


def test_an_account_names_its_cluster():
    ran = run("simone@wilson")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Fermilab Wilson cluster  wilson, legacy")
    assert "Jobs do not run from the home" not in ran.stdout
    assert "cheatsheet wilson --all" in " ".join(ran.stdout.split())
    assert "Jobs do not run from the home" in run("simone@wilson", "--all").stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80


def test_a_folder_that_is_missing_is_named(tmp_path):
    ran = run("wilson", "--profiles", str(tmp_path / "typo"))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f'argument --profiles: there is no folder "{tmp_path}/typo"' in ran.stderr


def test_a_mistake_in_a_profile_of_ones_own_is_told_with_its_line(tmp_path):
    text = (CLUSTERS / "wilson.yml").read_text()
    (tmp_path / "wilson.yml").write_text(text.replace("status: legacy", "status: legasy"))
    ran = run("wilson", "--profiles", str(tmp_path))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert 'wilson.yml:7: "status" cannot be "legasy"; did you mean "legacy"?' in ran.stderr


def test_a_profile_of_ones_own_says_what_it_lacks(tmp_path):
    text = (CLUSTERS / "wilson.yml").read_text().replace("status: legacy", "status: own")
    without = text.replace("  host: wc.fnal.gov\n  source:", "  host: wc.fnal.gov\n  # source:")
    (tmp_path / "wilson.yml").write_text(without)
    ran = run("wilson", "--profiles", str(tmp_path))
    assert ran.returncode == 0
    assert "1 fact without a source or date" in " ".join(ran.stdout.split())
