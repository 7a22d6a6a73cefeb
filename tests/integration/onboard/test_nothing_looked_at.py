# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing looked at is no success: tags, an inventory or accounts that leave nothing to do are an error everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import sample
from tests.integration.runs import REPOSITORY

ACCOUNTS = "plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n  ada@lrz: {}\n"
CHOOSING = ("onboard", "audit", "offboard")  # whose tags choose among the capabilities
OF_ACCOUNTS = (*CHOOSING, "fix", "adopt", "rotate_ngc", "rotate", "connect", "preflight", "ssh_config")
NO_PARTS = "no roles to choose from"
NO_ACCOUNTS = "no accounts file was read"
NO_PLUGIN = ".yml has no line 'plugin: hpc.onboard.accounts'. Add this line, or name your accounts file with -i FILE"
NOTHING = {
    **{f"{one}.yml --tags storage_link": 'did you mean "storage_links"?' for one in CHOOSING},
    **{f"{one}.yml --tags path_script": 'did you mean "path_scripts"?' for one in CHOOSING},
    **{f"{one}.yml --skip-tags condaa": 'did you mean "conda"?' for one in CHOOSING},
    **{f"{one}.yml --tags untagged": f"exclude everything that {one} does" for one in CHOOSING},
    **{f"{one}.yml --tags ngc": NO_PARTS for one in ("fix", "rotate_ngc", "rotate", "doctor")},
    **{f"{one}.yml --skip-tags condaa": NO_PARTS for one in ("fix", "rotate_ngc", "rotate", "doctor")},
    **{f"{one}.yml -i localhost,": NO_ACCOUNTS for one in OF_ACCOUNTS},
    **{f"{one}.yml -i {file}.yml": NO_PLUGIN for one in OF_ACCOUNTS for file in ("others", "empty", "bare")},
    **{f"{one}.yml -i none.yml": '"accounts" is empty; add an entry.' for one in (*OF_ACCOUNTS, "doctor")},
    **{f"{one}.yml -i nowhere.yml": "nowhere.yml: file not found" for one in (*OF_ACCOUNTS, "doctor")},
    **{f"{one}.yml -i accounts.yml -i localhost, -l localhost": "excludes all accounts" for one in OF_ACCOUNTS},
    **{f"{one}.yml -l lrs": 'did you mean "lrz"?' for one in OF_ACCOUNTS},
    "rotate_ngc.yml --check": "no account has the key 'ngc'",
    "fix.yml": "this machine has no audit results for these accounts",
    "hpc.onboard.audit --tags storage_link": 'did you mean "storage_links"?',
}


@pytest.mark.parametrize("words", sample(list(NOTHING), 12, "nothing to look at"))
def test_a_run_that_has_nothing_to_look_at_is_one_error_and_exit_2(words: str, tmp_path: Path) -> None:
    (tmp_path / "accounts.yml").write_text(ACCOUNTS)
    (tmp_path / "others.yml").write_text("web:\n  hosts:\n    server: {}\n")
    (tmp_path / "empty.yml").touch()
    (tmp_path / "bare.yml").write_text("accounts:\n  ada@lrz:\n    project: a\n")
    (tmp_path / "none.yml").write_text("plugin: hpc.onboard.accounts\naccounts: {}\n")
    typed = [str(tmp_path / word) if word.endswith(".yml") else word for word in words.split()[1:]]
    inventory = [] if "-i" in words else ["-i", str(tmp_path / "accounts.yml")]
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), words.split()[0], *typed, *inventory],
        cwd=REPOSITORY,
        env={**os.environ, "HOME": str(tmp_path), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = " ".join((done.stdout + done.stderr).split())
    assert NOTHING[words] in shown
    assert done.returncode == 2, shown
    assert shown.count("[ERROR]") <= 1
    assert "Origin:" not in shown


@pytest.mark.parametrize("limit", ["-i localhost,", "-i accounts.yml -i web, -l web"])
def test_a_run_without_accounts_fails_under_any_callback(limit: str, tmp_path: Path) -> None:
    (tmp_path / "accounts.yml").write_text(ACCOUNTS)
    order = [str(Path(sys.executable).with_name("ansible-playbook")), "hpc.onboard.audit"]
    words = [str(tmp_path / word) if word.endswith(".yml") else word for word in limit.split()]
    callback = {"HOME": str(tmp_path), "ANSIBLE_STDOUT_CALLBACK": "default"}
    done = subprocess.run(
        [*order, *words], cwd=REPOSITORY, env={**os.environ, **callback}, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "no accounts file was read" in done.stdout or "-l excludes all accounts" in done.stdout


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
