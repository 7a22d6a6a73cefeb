# SPDX-License-Identifier: GPL-3.0-or-later
"""A fresh clone works with its practice accounts, and a file of one's own takes their place, unseen by git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.testbed.client import Client
from tools.sanity_cores import ROOT, cloned

OWN = "plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n  me@wilson: {project: mine}\n"


class Clone:
    """A clone of the checkout, as git would make it, and somebody who types in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "hpc.onboard"
        self.client = Client(folder)
        for name in cloned():
            if os.path.lexists(ROOT / name):
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.folder / name, follow_symlinks=False)
        self.git("init", "-q")
        self.git("add", "--all")

    def git(self, *words: str) -> str:
        """Run git; what it said."""
        order = ["git", "-C", str(self.folder), *words]
        return subprocess.run(order, check=True, capture_output=True, text=True).stdout

    def types(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment."""
        own = {"HPC_ONBOARD_SSH": "none", "PYTHONPATH": str(self.folder / "collections")}
        return self.client.run(words[0], *words[1:], cwd=self.folder, env=own)

    def hosts(self) -> set[str]:
        """The accounts that a run without options is about."""
        said = self.types("ansible-inventory", "--graph", "accounts").stdout
        return {line.rpartition("--")[2] for line in said.splitlines() if "@" in line.removeprefix("@")}


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_a_fresh_clone_serves_practice_accounts_until_there_are_own_ones(clone: Clone) -> None:
    practised = clone.hosts()
    assert "simone@wilson" in practised
    assert len(practised) == 6
    ran = clone.types("ansible-playbook", "onboard.yml", "-l", "wilson")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith("✓ simone@wilson")
    assert "Everything is on this machine" in ran.stdout
    dfki = clone.types("ansible-playbook", "onboard.yml", "-l", "dfki", "--tags", "conda", "--check")
    assert "/data/ada/miniconda3" in dfki.stdout

    (clone.folder / "inventory" / "accounts.yml").write_text(OWN, encoding="utf-8")
    assert clone.hosts() == {"me@wilson"}
    audit = clone.types("ansible-playbook", "audit.yml", "-e", "audit_output=report")
    assert "me@wilson" in audit.stdout
    assert "simone@wilson" not in audit.stdout
    assert (clone.folder / "report" / "audit.json").is_file()
    (clone.folder / "inventory" / "accounts.yml").unlink()
    practised = clone.types("ansible-playbook", "audit.yml", "-l", "narval", "-e", "audit_output=elsewhere/mine")
    assert "ada@narval" in practised.stdout
    assert "inventory/practice.yml" in (clone.folder / "elsewhere" / "mine" / "audit.json").read_text()
    (clone.folder / "inventory" / "accounts.yml").write_text(OWN, encoding="utf-8")
    seen = clone.git("status", "--porcelain", "--untracked-files=all")
    assert {line for line in seen.splitlines() if line.startswith("??")} <= {"?? elsewhere/mine/audit.md"}


def test_a_limit_that_no_practice_account_meets_is_one_error_with_its_file(clone: Clone) -> None:
    ran = clone.types("ansible-playbook", "onboard.yml", "-l", "wilsn")
    assert ran.returncode == 2
    assert 'inventory/practice.yml has no account or group "wilsn"; did you mean "wilson"?' in ran.stderr


def test_a_file_of_ones_own_elsewhere_goes_before_practice(clone: Clone) -> None:
    def accounts() -> str:
        return clone.types("hpc-onboard", "plan", "all").stdout

    assert "simone@wilson" in accounts()
    own = clone.client.home / ".config" / "hpc.onboard" / "accounts.yml"
    own.parent.mkdir(parents=True)
    own.write_text(OWN, encoding="utf-8")
    assert "simone@wilson" not in accounts()
    assert "me@wilson" in accounts()
