# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing looked at is no success: tags, an inventory or accounts that leave nothing to do are an error everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.runs import REPOSITORY

ACCOUNTS = "plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n  ada@lrz: {}\n"
NOTHING = {
    "audit.yml --tags storage_link": 'did you mean "storage_links"?',
    "onboard.yml --tags path_script": 'did you mean "path_scripts"?',
    "onboard.yml --skip-tags condaa": 'did you mean "conda"?',
    "offboard.yml --tags untagged": "leave nothing for offboard to do",
    "rotate_ngc.yml --tags ngc": "no parts to choose among",
    "rotate_ngc.yml --check": "no account holds the key 'ngc'",
    "hpc.onboard.audit --tags storage_link": 'did you mean "storage_links"?',
    "onboard.yml -i localhost,": "no accounts file was read",
    "audit.yml -i localhost,": "no accounts file was read",
    "rotate_ngc.yml -i localhost,": "no accounts file was read",
    "offboard.yml -i localhost,": "no accounts file was read",
    "audit.yml -i nowhere.yml": "nowhere.yml: there is no such file",
}


@pytest.mark.parametrize("words", NOTHING)
def test_a_run_that_has_nothing_to_look_at_does_not_end_well(words: str, tmp_path: Path) -> None:
    (tmp_path / "accounts.yml").write_text(ACCOUNTS)
    inventory = [] if "-i" in words else ["-i", str(tmp_path / "accounts.yml")]
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), *words.split(), *inventory],
        cwd=REPOSITORY,
        env={**os.environ, "HOME": str(tmp_path), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    if "-i" not in words:
        assert done.returncode == 2
    assert NOTHING[words] in " ".join((done.stdout + done.stderr).split())


def test_tags_of_somebody_elses_playbook_are_their_own(tmp_path: Path) -> None:
    (tmp_path / "accounts.yml").write_text(ACCOUNTS)
    play = "- import_playbook: hpc.onboard.onboard\n- hosts: accounts\n  gather_facts: false\n  tasks:\n"
    task = "    - ansible.builtin.debug: {msg: mine}\n      tags: [web]\n"
    (tmp_path / "site.yml").write_text(play + task)
    order = ["ansible-playbook", str(tmp_path / "site.yml"), "-i", str(tmp_path / "accounts.yml"), "--tags", "web"]
    done = subprocess.run(
        [str(Path(sys.executable).parent / order[0]), *order[1:]],
        cwd=REPOSITORY,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mine" in done.stdout
