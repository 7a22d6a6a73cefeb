"""The plugin in a real ansible-inventory and ansible-playbook.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import turns

pytestmark = turns(3)

CHECKOUT = Path(__file__).resolve().parents[3]
HEAD = "plugin: hpc.onboard.accounts\n"
PLAY = """- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "ran {{ inventory_hostname }} {{ greeting | default('') }}"
"""


def run(program: str, *arguments: str, cwd: Path = CHECKOUT, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program of Ansible, with this collection and no settings of the user's."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
    return subprocess.run(
        [str(Path(sys.executable).parent / program), *arguments],
        cwd=cwd,
        env={**inherited, "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / "collections"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def plain(mapping: dict) -> object:
    """ansible-inventory --list marks each text that Ansible must not take for a template."""
    return mapping.get("__ansible_unsafe", mapping)


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    (tmp_path / "play.yml").write_text(PLAY)
    return tmp_path


def test_the_file_that_ships_has_a_sandbox_account_on_each_cluster_that_we_began_with():
    ran = run("ansible-inventory", "-i", "inventory/practice.yml", "--list")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    hosts = json.loads(ran.stdout, object_hook=plain)["_meta"]["hostvars"]
    clusters = {"lrz", "dfki", "dfki_pegasus", "wilson", "narval", "daint"}
    assert {variables["account"]["cluster"] for variables in hosts.values()} == clusters
    assert all(variables["ansible_connection"] == "local" for variables in hosts.values())


def test_without_settings_the_plugin_is_found_by_its_name_in_the_file(elsewhere):
    (elsewhere / "my.yml").write_text(HEAD + "accounts:\n  a@dfki:\n    vars: {x: 1}\n")
    ran = run("ansible-inventory", "-i", "my.yml", "--host", "a@dfki", cwd=elsewhere)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["x"] == 1


def test_templates_of_the_accounts_file_work_and_those_of_a_profile_do_not(elsewhere):
    own = elsewhere / "ours"
    own.mkdir()
    shipped = (CHECKOUT / "inventory" / "clusters" / "dfki.yml").read_text()
    (own / "attic.yml").write_text(
        shipped.replace("id: dfki", "id: attic").replace("name: DFKI", "name: '{{ 1 + 1 }}' # DFKI")
    )
    (elsewhere / "my.yml").write_text(
        HEAD
        + "profiles: [ours]\naccounts:\n  a@attic:\n    sandbox: true\n"
        + "    storage: {more: '{{ \"/m\" }}/{{ account.user }}'}\n"
        + "    vars: {greeting: '{{ cluster.storage[-1].path }} {{ cluster.name }}'}\n"
    )
    ran = run("ansible-playbook", "-i", "my.yml", "play.yml", cwd=elsewhere)
    assert ran.returncode == 0, ran.stderr
    assert "ran a@attic /m/a {{ 1 + 1 }}" in ran.stdout


@pytest.mark.parametrize("shape", ["this checkout's settings", "no settings", "ansible-inventory"])
def test_a_mistake_is_one_error_and_nothing_runs(shape, elsewhere):
    (elsewhere / "accounts.yml").write_text(HEAD + "accounts:\n  a@dfky:\n    vars: {token: CANARY}\n")
    (elsewhere / "ansible.cfg").write_text(
        "[inventory]\nenable_plugins = hpc.onboard.accounts, yaml, ini\n" if shape.startswith("this") else ""
    )
    program = ["ansible-inventory", "--list"] if shape == "ansible-inventory" else ["ansible-playbook", "play.yml"]
    ran = run(*program, "-i", "accounts.yml", cwd=elsewhere)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    assert "accounts.yml:3: unknown cluster" in ran.stderr
    assert 'did you mean "dfki"?' in ran.stderr
    assert "CANARY" not in ran.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (HEAD + "accounts: {x\n", "this is not valid YAML"),
        ("accounts:\n  a@dfki:\n", 'has no "plugin"'),
        (HEAD + "accounts:\n  a@dfki:\n  a@dfki:\n", "duplicate key"),
    ],
)
def test_with_the_checkouts_settings_even_a_file_that_names_no_plugin_is_one_error(text, words, elsewhere):
    file = elsewhere / "accounts.yml"
    file.write_text(text)
    ran = run(
        "ansible-playbook",
        "-i",
        str(file),
        str(elsewhere / "play.yml"),
        cwd=CHECKOUT,
        ANSIBLE_STDOUT_CALLBACK="default",
    )
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    assert words in ran.stderr


def test_other_inventories_are_left_alone(elsewhere):
    (elsewhere / "hosts.yml").write_text("all: {hosts: {web1: }}\n")
    (elsewhere / "hosts.ini").write_text("web2\n")
    ran = run(
        "ansible-inventory",
        "-i",
        "hosts.yml",
        "-i",
        "hosts.ini",
        "--list",
        cwd=elsewhere,
        ANSIBLE_INVENTORY_ENABLED="hpc.onboard.accounts,yaml,ini",
    )
    assert sorted(json.loads(ran.stdout)["ungrouped"]["hosts"]) == ["web1", "web2"]


def test_a_limit_that_names_nothing_is_one_error(elsewhere):
    ran = run("ansible-inventory", "-i", "inventory/practice.yml", "--list", "-l", "wilsn")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert 'inventory/practice.yml has no account or group "wilsn"; did you mean "wilson"?' in ran.stderr


def test_a_limit_may_not_name_an_account_whose_entry_was_removed_before_it_was_offboarded(elsewhere):
    (elsewhere / "my.yml").write_text(HEAD + "accounts:\n  a@dfki:\n")
    note = {"options": {}, "keyed": {}, "clusters": [], "kind": "storage_link", "made": True, "identity": "link ~/data"}
    receipt = {"schema": "hpc.onboard/receipt/1.0", "keys": {}, "resources": {"1": {**note, "hashes": {}}}}
    (elsewhere / "hpc.onboard" / "receipts").mkdir(parents=True, mode=0o700)
    (elsewhere / "hpc.onboard" / "receipts" / "a@narval.json").write_text(json.dumps(receipt))
    ran = run(
        *("ansible-inventory", "-i", "my.yml", "--list", "-l", "a@narval"), cwd=elsewhere, XDG_STATE_HOME=str(elsewhere)
    )
    assert ran.returncode == 2
    assert 'no account or group "a@narval"; this machine has set up this account' in ran.stderr
    assert "add its entry to the file again" in ran.stderr


@pytest.mark.parametrize(("limit", "accounts"), [("!needs_person", ["a@daint"]), ("needs_person", ["b@narval"])])
def test_a_limit_may_name_the_accounts_that_need_the_user(limit, accounts, elsewhere):
    (elsewhere / "my.yml").write_text(HEAD + "accounts:\n  a@daint: {sandbox: true}\n  b@narval: {auth: ask}\n")
    ran = run("ansible-inventory", "-i", "my.yml", "--list", "-l", limit, cwd=elsewhere)
    assert ran.returncode == 0, ran.stderr
    assert sorted(json.loads(ran.stdout)["_meta"]["hostvars"]) == accounts


def test_a_limit_may_name_what_another_inventory_has(elsewhere):
    (elsewhere / "hosts.ini").write_text("web2\n")
    (elsewhere / "my.yml").write_text(HEAD + "accounts:\n  a@dfki:\n")
    ran = run("ansible-inventory", "-i", "my.yml", "-i", "hosts.ini", "--list", "-l", "web2", cwd=elsewhere)
    assert ran.returncode == 0, ran.stderr


def test_a_file_of_any_name_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "group.yml"
    file.write_text(f"{HEAD}accounts:\n  ada@lrz: {{sandbox: true}}\n", encoding="utf-8-sig")
    ran = run("ansible-inventory", "-i", str(file), "--list")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "ada@lrz" in json.loads(ran.stdout)["_meta"]["hostvars"]
