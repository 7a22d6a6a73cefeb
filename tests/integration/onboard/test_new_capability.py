# SPDX-License-Identifier: GPL-3.0-or-later
"""A new capability, written by the tool into a copy of the tree: it passes what every capability must, and it runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.effort import exhaustive

CHECKOUT = Path(__file__).parents[3]
MADE_HERE = (".git", ".venv", ".cache", ".ansible", ".sandbox", "__pycache__", ".*_cache", ".hypothesis", "build")
ACCOUNTS = """plugin: hpc.onboard.accounts
sandbox: true
accounts:
  ada@dfki:
    conda: {environments: []}
    motd_files: {entries: [{path: ~/motd, content: "# ours\\nhello\\n"}]}
"""
PROOFS = ["resources/test_motd_file.py", "audit/judges", "audit/test_findings.py", "audit/test_rules_page.py"]
RULES = ["conventions/test_conventions.py", "conventions/test_rooms.py"]


class Copy:
    """A copy of the tree, in which everything is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "copy"
        self.accounts = folder / "accounts.yml"
        self.accounts.write_text(ACCOUNTS, encoding="utf-8")
        shutil.copytree(CHECKOUT, self.folder, symlinks=True, ignore=shutil.ignore_patterns(*MADE_HERE))

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of this environment there."""
        own = {"PYTHONPATH": f"{self.folder}/collections", "HOME": str(self.folder.parent), "ANSIBLE_NOCOLOR": "1"}
        program = [str(Path(sys.executable).parent / command[0]), *command[1:]]
        place = {"XDG_STATE_HOME": f"{self.folder.parent}/state", "ANSIBLE_CONFIG": f"{self.folder}/ansible.cfg"}
        environment = {**os.environ, **own, **place}
        return subprocess.run(program, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def play(self, playbook: str, *more: str) -> str:
        """What a playbook prints over the accounts file; it must end well."""
        done = self.run("ansible-playbook", playbook, "-i", str(self.accounts), *more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def test(self, *files: str) -> None:
        """Run unit tests, which must pass."""
        paths = [f"tests/unit/{one}" for one in files]
        done = self.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """A copy with a new capability."""
    made = Copy(tmp_path_factory.mktemp("new"))
    done = made.run("python", "-m", "tools.new_capability", "motd_files")
    assert done.returncode == 0, done.stderr
    assert "tests/unit/resources/test_motd_file.py" in done.stdout
    yield made
    shutil.rmtree(made.folder)


def test_it_has_its_files_in_the_houses_form_and_no_word_of_the_model(copy: Copy) -> None:
    found = [path for path in copy.folder.rglob("*") if "motd_file" in str(path.relative_to(copy.folder))]
    new = [path for path in found if path.is_file()]
    assert len(new) == 12
    for file in new:
        assert not re.search("example_file|ExampleFile|EXA-", file.read_text(encoding="utf-8")), file
    for command in (("check",), ("format", "--check")):
        done = copy.run("ruff", *command, "-q", ".")
        assert done.returncode == 0, done.stdout


def test_its_own_tests_pass(copy: Copy) -> None:
    copy.test(*PROOFS, "capabilities/test_table.py")


@exhaustive
def test_it_keeps_the_rules_of_the_house(copy: Copy) -> None:
    copy.test(*RULES)
    done = copy.run("mypy", "plugins")
    assert done.returncode == 0, done.stdout


def test_an_account_is_onboarded_with_it_and_audited(copy: Copy) -> None:
    foreseen = copy.play("onboard.yml", "--check", "--diff", "--tags", "motd_files")
    assert "motd_file ~/motd" in foreseen
    assert not list(copy.accounts.parent.glob(".sandbox/**/motd"))
    copy.play("onboard.yml", "--tags", "motd_files")
    (file,) = copy.accounts.parent.glob(".sandbox/**/motd")
    assert file.read_text(encoding="utf-8").splitlines()[-1] == "hello"
    file.unlink()
    audited = copy.run("ansible-playbook", "audit.yml", "-i", str(copy.accounts), "--tags", "motd_files")
    assert "MOT-001" in audited.stdout, audited.stdout + audited.stderr


def test_a_name_that_is_taken_or_none_is_refused_and_nothing_is_written(copy: Copy) -> None:
    before = sorted(copy.folder.rglob("*.py"))
    refused = {"motd_files": "is taken", "Motd": "is not a name", "motor_files": "rules MOT-... are taken"}
    for name, why in refused.items():
        done = copy.run("python", "-m", "tools.new_capability", name)
        assert done.returncode == 2
        assert why in done.stderr
    assert sorted(copy.folder.rglob("*.py")) == before
