# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-playbook is told, and where the user's own word wins."""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.settings import (
    COLLECTIONS_ROOT,
    CONSOLE,
    DEFAULT_PLUGINS,
    UNLESS_SET,
    build_environment,
    find_configuration,
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where the person is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    return tmp_path


def test_all_that_the_checkout_sets_goes_along(desk: Path) -> None:
    """But what is Ansible's default, and the inventory, which the command finds."""
    checkout = configparser.ConfigParser()
    checkout.read(ROOT / "ansible.cfg", encoding="utf-8")
    set_there = {(section, key) for section in checkout.sections() for key in checkout[section]}
    ours = {(section, key): value for _name, section, key, value in UNLESS_SET}
    assert set_there - ours.keys() == {
        *(("defaults", key) for key in ("inventory", "collections_path", "stdout_callback", "host_key_checking")),
        *(("inventory", key) for key in ("enable_plugins", "unparsed_is_failed")),
    }
    assert {(section, key): checkout[section][key] for section, key in ours} == ours
    plugins = "".join(checkout["inventory"]["enable_plugins"].split())
    assert build_environment({})["ANSIBLE_INVENTORY_ENABLED"] == plugins == f"hpc.onboard.accounts,{DEFAULT_PLUGINS}"
    assert checkout["defaults"]["stdout_callback"] == CONSOLE["ANSIBLE_STDOUT_CALLBACK"]


def test_the_environment_of_the_user_wins_but_for_what_makes_the_command(desk: Path) -> None:
    given = {
        "ANSIBLE_FORKS": "3",
        "ANSIBLE_STDOUT_CALLBACK": "json",
        "ANSIBLE_INVENTORY_ENABLED": "toml, hpc.onboard.accounts",
        "ANSIBLE_COLLECTIONS_PATH": "/mine",
        "OTHER": "x",
    }
    made = build_environment(given)
    assert (made["ANSIBLE_FORKS"], made["OTHER"]) == ("3", "x")
    assert made["ANSIBLE_STDOUT_CALLBACK"] == "hpc.onboard.console"
    assert made["ANSIBLE_INVENTORY_ENABLED"] == "hpc.onboard.accounts,toml"
    assert made["ANSIBLE_COLLECTIONS_PATH"] == f"{COLLECTIONS_ROOT}:/mine"


def test_the_users_ansible_cfg_wins_too(desk: Path) -> None:
    text = "[defaults]\nforks = 5 ; few\ncollections_path = here:~/there:/abs\n[inventory]\nenable_plugins = ini\n"
    (desk / "ansible.cfg").write_text(text, encoding="utf-8")
    made = build_environment({})
    assert "ANSIBLE_FORKS" not in made
    assert made["ANSIBLE_PYTHON_INTERPRETER"] == "auto_silent"
    assert made["ANSIBLE_INVENTORY_ENABLED"] == "hpc.onboard.accounts,ini"
    assert made["ANSIBLE_COLLECTIONS_PATH"] == f"{COLLECTIONS_ROOT}:{desk}/here:{desk}/there:/abs"


@pytest.mark.parametrize(
    ("variables", "locale"),
    [({"LC_ALL": "C"}, "C.UTF-8"), ({"LANG": "xx_YY.ISO-8859-1"}, "C.UTF-8"), ({"LANG": "C.UTF-8"}, "the user's")],
)
def test_ansible_gets_a_locale_that_it_accepts(variables: dict[str, str], locale: str) -> None:
    name = "ansible_collections.hpc.onboard.plugins.plugin_utils._command.settings"
    program = f"import os, {name} as s; print(s.build_environment(os.environ).get('LC_ALL', \"the user's\"))"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{COLLECTIONS_ROOT}", **variables}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == locale


def test_a_folder_that_all_can_write_to_loses_its_ansible_cfg_as_it_does_for_ansible(desk: Path) -> None:
    (desk / "ansible.cfg").write_text("[defaults]\nforks = 5\n", encoding="utf-8")
    desk.chmod(0o777)
    assert build_environment({})["ANSIBLE_FORKS"] == "20"


def test_a_broken_ansible_cfg_is_left_to_ansible(desk: Path) -> None:
    (desk / "ansible.cfg").write_text("no section", encoding="utf-8")
    assert build_environment({})["ANSIBLE_FORKS"] == "20"


def test_ansible_reads_the_same_ansible_cfg(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ansible() -> str:
        program = "from ansible.config.manager import find_ini_config_file as f; print(f() or '')"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def ours(**given: str) -> str:
        return str(find_configuration(given).resolve()) if find_configuration(given) else ""  # type: ignore[union-attr]

    assert ours() == ansible()
    (desk / ".ansible.cfg").touch()
    assert ours() == ansible() == str(desk / ".ansible.cfg")
    (desk / "ansible.cfg").touch()
    assert ours() == ansible() == str(desk / "ansible.cfg")
    (desk / "sub").mkdir()
    (desk / "sub/ansible.cfg").touch()
    monkeypatch.setenv("ANSIBLE_CONFIG", str(desk / "sub"))
    assert ours(ANSIBLE_CONFIG=str(desk / "sub")) == ansible() == str(desk / "sub/ansible.cfg")


def test_the_collection_is_the_one_that_the_command_belongs_to() -> None:
    assert (COLLECTIONS_ROOT / "ansible_collections/hpc/onboard").resolve() == ROOT
