"""The packages installed into empty environments, and used from another folder.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.effort import turns
from tools.sanity_cores import ROOT

from .conftest import Environment

pytestmark = turns(2)

ONBOARD = ("ansible-playbook", "hpc.onboard.onboard", "-i", "accounts.yml", "-l", "wilson")
BROUGHT = "../home/.ansible/collections/ansible_collections/hpc/onboard/scripts/hpc-onboard"  # seen from bin
VERSION = re.search(r"^version: (\S+)", (ROOT / "galaxy.yml").read_text(), re.MULTILINE)


@pytest.fixture(params=["from_wheel", "from_tarball"])
def installed(request: pytest.FixtureRequest) -> Environment:
    """Both ways to have it."""
    found: Environment = request.getfixturevalue(request.param)
    return found


def changes(said: str) -> list[str]:
    """The number of changes for each account, as Ansible's own recap gives them."""
    return re.findall(r"changed=(\d+)", said)


@turns(2)
def test_it_onboards_from_another_folder_and_has_nothing_to_do_again(installed: Environment) -> None:
    installed.must(*ONBOARD)
    env = installed.folder / ".sandbox" / "simone@wilson" / "home" / "simone" / ".config" / "hpc.onboard" / "env.sh"
    assert "APPTAINER_CACHEDIR" in env.read_text()
    assert changes(installed.must(*ONBOARD)) == ["0"]


@turns(2)
def test_it_audits_what_it_has_set_up_and_takes_it_out_again(installed: Environment) -> None:
    installed.must(*ONBOARD)
    audit = ("ansible-playbook", "hpc.onboard.audit", *ONBOARD[2:], "-e", "audit_output=report")
    installed.must(*audit)
    report = json.loads((installed.folder / "report" / "audit.json").read_text())
    assert (report["summary"]["measured"], report["run"]["tool"]) == (1, VERSION[1] if VERSION else "")
    assert "</html>" in (installed.folder / "report" / "audit.html").read_text()
    work = installed.folder / ".sandbox" / "simone@wilson" / "home" / "simone" / "work"
    work.unlink()
    assert installed.run(*audit).returncode == 2
    found = json.loads((installed.folder / "report" / "audit.json").read_text())["findings"]
    assert [one["rule"] for one in found if one["severity"] != "info"] == ["LNK-001"]
    fix = found[0]["fix"][-1]["command"]
    assert fix[1:3] == ["onboard", "-i"]
    assert "1 created" in installed.must(*fix), "what was told works as it was told"
    installed.must("ansible-playbook", "hpc.onboard.offboard", *ONBOARD[2:], "-e", "offboard_sure=true")
    assert not work.is_symlink()


def test_the_console_of_the_collection_can_be_chosen(installed: Environment) -> None:
    said = installed.must(*ONBOARD, ANSIBLE_STDOUT_CALLBACK="hpc.onboard.console")
    assert "simone@wilson" in said
    assert "PLAY RECAP" not in said


def test_the_doctor_comes_along(installed: Environment) -> None:
    said = installed.run("ansible-playbook", "hpc.onboard.doctor", "-i", "accounts.yml", "-v")
    assert "1 sandbox." in said.stdout, said.stdout


@pytest.fixture(params=["from_wheel", "from_tarball"])
def command(request: pytest.FixtureRequest) -> tuple[Environment, str]:
    """Both ways to have it, and how the command is called there."""
    found: Environment = request.getfixturevalue(request.param)
    if request.param == "from_wheel":
        return found, "hpc-onboard"
    link = found.path / "bin" / "hpc-onboard"  # as docs/command.md says
    if not link.is_symlink():
        link.symlink_to(BROUGHT)
    return found, "hpc-onboard"


@turns(2)
def test_the_command_onboards_and_audits_from_another_folder(command: tuple[Environment, str]) -> None:
    installed, program = command
    shutil.rmtree(installed.folder / ".sandbox", ignore_errors=True)
    said = installed.must(program, "wilson")
    assert said.startswith("✓ simone@wilson  "), said
    assert "PLAY RECAP" not in said
    assert "1 account: nothing found" in installed.must(program, "audit")
    (installed.folder / ".sandbox" / "simone@wilson" / "home" / "simone" / "work").unlink()
    drifted = installed.run(program, "audit", "wilson")
    assert drifted.returncode == 2
    told = shlex.split(drifted.stdout.replace("\\\n", "").split("Next:\n")[1].splitlines()[0])
    assert told[:2] == ["hpc-onboard", "onboard"]
    assert "1 created" in installed.must(*told)
    assert installed.run(program, "wilsn").returncode == 2
    assert "0 records" in installed.must(program, "ledger", "verify")
    assert f"hpc-onboard {VERSION[1] if VERSION else ''}\n" in installed.must(program, "--version")


def test_playbooks_of_an_installation_tell_the_command(from_wheel: Environment) -> None:
    """Its name is shorter, and it brings the console."""
    audit = ("ansible-playbook", "hpc.onboard.audit", *ONBOARD[2:])
    (from_wheel.folder / ".sandbox" / "simone@wilson" / "home" / "simone" / "work").unlink(missing_ok=True)
    said = from_wheel.run(*audit, ANSIBLE_STDOUT_CALLBACK="hpc.onboard.console").stdout
    assert "\n  hpc-onboard onboard -i accounts.yml -l 'simone@wilson'" in said, said


def test_the_command_that_galaxy_brings_is_not_hidden_by_a_package_of_the_same_name(from_tarball: Environment) -> None:
    """The distribution "ansible" makes a package of the folder where all collections lie."""
    packages = next((from_tarball.path / "lib").glob("python*/site-packages")) / "ansible_collections"
    packages.mkdir()
    (packages / "__init__.py").touch()
    try:
        assert "✓ simone@wilson  " in from_tarball.must(BROUGHT, "wilson")
    finally:
        shutil.rmtree(packages)


TOLD = """
import json, shlex, sys
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import PLAYBOOKS, read_invocation
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import (
    resume_command, retired_command, rotate_command)
limit = ["-l", "simone@wilson"]
start = read_invocation(sys.argv[1:])
others = ("rotate", "doctor", "export-script", "import-result")
told = [start.command(verb, limit) for verb in PLAYBOOKS if verb not in others]
told += [start.command("onboard", [*limit, "--tags", "conda"]), start.command("audit", ["--tags", "watch"])]
told += [start.command("offboard", [*limit, "--only", "undeclared"]), start.command("doctor")]
sys.argv = ["ansible-playbook", *sys.argv[1:]]
commands = (rotate_command, resume_command, retired_command)
told += [shlex.split(one(name)) for one in commands for name in ("ngc", "wandb")]
local = [start.command(verb) for verb in ("cheatsheet", "state", "ledger", "rekey")]
print(json.dumps([[*one, "--syntax-check"] for one in told] + [[*one, "--help"] for one in local]))
"""


@turns(4)
@pytest.mark.parametrize("front", ["", "hpc-onboard"], ids=["of playbooks", "of the command"])
def test_every_command_that_is_told_exists_in_what_is_installed(command: tuple[Environment, str], front: str) -> None:
    """Made where all of them are made, by the installed code; each is parsed by what it names, and nothing is done."""
    installed, _program = command
    own = {"PYTHONPATH": str(installed.path / "home" / ".ansible" / "collections")}
    own |= {"HPC_ONBOARD_COMMAND": front} if front else {}
    said = installed.must("python", "-c", TOLD, "hpc.onboard.onboard", "-i", "accounts.yml", **own)
    told = [tuple(one) for one in json.loads(said.splitlines()[-1])]
    assert {one[0].rpartition("/")[2] for one in told} <= {"hpc-onboard", "ansible-playbook"}
    for one in dict.fromkeys(told):
        installed.must(*one)


def test_the_encrypted_file_is_there_for_the_keyring_command(from_wheel: Environment) -> None:
    passphrase = from_wheel.path / "passphrase"
    passphrase.touch(mode=0o600)
    passphrase.write_text("correct horse battery")
    own = {
        "KEYRING_PROPERTY_PASSPHRASE_FILE": str(passphrase),
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere",
        "XDG_RUNTIME_DIR": "/nowhere",
    }
    assert "plugin_utils.keyring_backend.Keyring (priority: 0.9)" in from_wheel.must(
        "keyring", "--list-backends", **own
    )
    keep = "import keyring; keyring.set_password('hpc.onboard', 'ngc', 'nvapi-1')"
    from_wheel.must("python", "-c", keep, **own)
    assert from_wheel.must("keyring", "get", "hpc.onboard", "ngc", **own) == "nvapi-1\n"
    assert "has a new salt" in from_wheel.must("hpc-onboard", "rekey", "--keep-passphrase", **own)
    assert from_wheel.must("keyring", "get", "hpc.onboard", "ngc", **own) == "nvapi-1\n"


def test_the_tarballs_backend_can_be_named(from_tarball: Environment) -> None:
    from_tarball.pip("cryptography")
    collections = from_tarball.path / "home" / ".ansible" / "collections"
    plugins = "ansible_collections.hpc.onboard.plugins.plugin_utils"
    own = {
        "PYTHONPATH": str(collections),
        "HPC_ONBOARD_PASSPHRASE": "x",
        "HPC_ONBOARD_PASSPHRASE_FROM_ENVIRONMENT": "yes",
    }
    own["PYTHON_KEYRING_BACKEND"] = f"{plugins}.keyring_backend.Keyring"
    from_tarball.must("python", "-c", "import keyring; keyring.set_password('hpc.onboard', 'ngc', 'nvapi-1')", **own)
    assert from_tarball.must("keyring", "get", "hpc.onboard", "ngc", **own) == "nvapi-1\n"
    assert "has a new salt" in from_tarball.must(BROUGHT, "rekey", "--keep-passphrase", **own)


def test_a_misspelt_cluster_is_one_error(installed: Environment) -> None:
    wrong = installed.folder / "wrong.yml"
    wrong.write_text((installed.folder / "accounts.yml").read_text().replace("wilson", "wilsom"))
    said = installed.run("ansible-inventory", "-i", wrong.name, "--list", ANSIBLE_INVENTORY_UNPARSED_FAILED="1")
    assert said.returncode != 0
    assert "wilson" in said.stdout


def test_galaxy_lists_it_with_its_version(installed: Environment) -> None:
    assert VERSION
    listed = installed.tell("ansible-galaxy", "collection", "list", "--format", "json")
    assert [found["hpc.onboard"]["version"] for found in listed.values() if "hpc.onboard" in found] == [VERSION[1]]


def documented() -> Iterator[tuple[str, str]]:
    """What the tree has that can be asked for with ansible-doc: type and name."""
    for path in sorted((ROOT / "plugins").glob("*/[a-z]*")):
        kind = {"modules": "module"}.get(path.parent.name, path.parent.name)
        if kind not in ("action", "module_utils", "plugin_utils", "doc_fragments"):
            yield kind, path.stem
    for path in sorted((ROOT / "roles").iterdir()):
        yield "role", path.name


DOCUMENTED = sorted(set(documented()))


def test_something_of_every_type_is_documented() -> None:
    assert {"callback", "inventory", "module", "role"} <= {kind for kind, _name in DOCUMENTED}


@pytest.mark.parametrize("kind", sorted({kind for kind, _name in DOCUMENTED}))
def test_ansible_doc_knows_all_of_a_type(kind: str, from_wheel: Environment) -> None:
    names = [f"hpc.onboard.{name}" for of, name in DOCUMENTED if of == kind]
    shown = from_wheel.tell("ansible-doc", "--json", "-t", kind, *names)
    assert sorted(shown) == names
    assert "error" not in json.dumps(list(shown.values()))[:200]


def test_an_editable_install_follows_an_edit(tree: Path, environment: Callable[[str], Environment]) -> None:
    made = environment("editable")
    made.pip("-e", tree)
    playbook = tree / "playbooks" / "edited.yml"
    playbook.write_text("- name: Edited\n  hosts: localhost\n  gather_facts: false\n  tasks: []\n")
    try:
        assert "PLAY [Edited]" in made.must("ansible-playbook", "hpc.onboard.edited", "-i", "localhost,")
    finally:
        playbook.unlink()
