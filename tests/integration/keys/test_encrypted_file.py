# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys from the encrypted file, over real servers: at a terminal, without one, and from what users set up instead."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import exhaustive, turns
from tests.integration.runs import KEY, PASSPHRASE, REPOSITORY, FileRing, onboard
from tools.sanity_cores import Core, environment, found

pytestmark = [pytest.mark.testbed, turns(3)]

BIN = Path(sys.executable).parent
CLUSTERS = ("lrz", "dfki", "wilson", "daint", "lrz", "dfki")
KEYED = {"lrz", "dfki", "daint"}  # enroot


@pytest.fixture
def ring(tmp_path: Path) -> FileRing:
    """An encrypted file with the key."""
    return FileRing(tmp_path, kdf=None)


def at_terminal(bed: Any, ring: FileRing, accounts: list[Any], programs: Path = BIN) -> pexpect.spawn[str]:
    """onboard.yml with a terminal, as a person starts it."""
    order = ["onboard.yml", "-i", str(bed.accounts_file(accounts))]
    env = {**bed.client.environment(programs), **ring.env, "TERM": "dumb"}
    return pexpect.spawn(
        str(programs / "ansible-playbook"), order, cwd=str(REPOSITORY), env=env, encoding="utf-8", timeout=60
    )


def finished(run: pexpect.spawn[str]) -> tuple[int, str]:
    """Exit code, and what was printed since the last look."""
    run.expect(pexpect.EOF, timeout=120)
    run.close()
    return int(run.exitstatus or 0), str(run.before)


def has_key(account: Any) -> bool:
    """Whether the key lies where enroot reads it."""
    folder = ".config/enroot" if account.name.endswith("@daint") else "enroot"
    path = f"{folder}/.credentials"
    return account.exists(path) and KEY.encode() in account.read(path)


def keyed(accounts: list[Any]) -> list[bool]:
    """Of the accounts that want a key: whether each has it."""
    return [has_key(account) for account in accounts if account.cluster.name in KEYED]


@pytest.fixture
def six(bed: Any) -> Iterator[list[Any]]:
    """Six accounts on four clusters."""
    yield [bed.new_account(name) for name in CLUSTERS]
    bed.client.disconnect()


@turns(1)
def test_six_accounts_cost_one_question(bed: Any, ring: FileRing, six: list[Any]) -> None:
    run = at_terminal(bed, ring, six)
    run.expect("Passphrase of .*: ")
    asked = str(run.after)
    run.sendline(PASSPHRASE)
    code, said = finished(run)
    assert code == 0, said
    assert "assphrase" not in said
    assert str(ring.file) in asked
    assert PASSPHRASE not in said
    assert KEY not in said
    assert keyed(six) == [True] * 5


def test_the_first_key_on_a_machine_asks_for_a_new_passphrase_twice(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": "/nowhere", "TERM": "dumb"}

    def keyring(*order: str, answers: list[tuple[str, str]]) -> str:
        run = pexpect.spawn(sys.executable, ["-m", "keyring", *order], env=env, encoding="utf-8", timeout=30)
        for question, answer in answers:
            run.expect(question)
            run.sendline(answer)
        run.expect(pexpect.EOF)
        run.close()
        return str(run.before)

    asked = [("Password for 'ngc'.*: ", KEY), ("New passphrase for ~/.local.*: ", PASSPHRASE)]
    slipped = keyring("set", "hpc.onboard", "ngc", answers=[*asked, ("Repeat the passphrase: ", "something else")])
    assert "the passphrases differ, so nothing was written" in slipped
    assert not (tmp_path / ".local/share/hpc.onboard/keyring").exists()
    keyring("set", "hpc.onboard", "ngc", answers=[*asked, ("Repeat the passphrase: ", PASSPHRASE)])
    said = keyring("get", "hpc.onboard", "ngc", answers=[("Passphrase of .*: ", "wrong"), ("2 of 3.*: ", PASSPHRASE)])
    assert said.split() == [KEY]


def test_a_slip_of_the_finger_is_asked_again(bed: Any, ring: FileRing) -> None:
    accounts = [bed.new_account("lrz"), bed.new_account("daint")]
    run = at_terminal(bed, ring, accounts)
    run.expect("Passphrase of .*: ")
    run.sendline("wrong")
    run.expect("Wrong passphrase.*attempt 2 of 3.*: ")
    run.sendline(PASSPHRASE)
    code, said = finished(run)
    assert code == 0, said
    assert keyed(accounts) == [True, True]


def test_who_does_not_want_to_answer_is_not_asked_again(bed: Any, ring: FileRing) -> None:
    accounts = [bed.new_account("lrz"), bed.new_account("dfki")]
    run = at_terminal(bed, ring, accounts)
    run.expect("Passphrase of .*: ")
    run.send("\x03")
    code, said = finished(run)
    assert code == 2, said
    assert "no passphrase was entered" in " ".join(said.split())
    assert keyed(accounts) == [False, False]


def test_a_passphrase_on_a_descriptor_is_read_once_for_all(bed: Any, ring: FileRing, six: list[Any]) -> None:
    programs = ring.folder / "bin"
    programs.mkdir()
    script = programs / "ansible-playbook"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "{PASSPHRASE}" | exec {BIN}/ansible-playbook "$@"\n')
    script.chmod(0o755)
    for descriptor in ("0", "7"):
        if descriptor == "7":
            script.write_text(f'#!/bin/sh\nexec {BIN}/ansible-playbook "$@" 7<{ring.passphrase_file}\n')
        environment = {**ring.env, "HPC_ONBOARD_PASSPHRASE_FD": descriptor}
        ran = onboard(bed, *six, environment=environment, programs=programs)
        assert ran.code == 0, ran.text
        assert "Passphrase" not in ran.text
        assert keyed(six) == [True] * 5
        named = {one["result"].get("keyring") for one in ran.results}
        assert named - {None} == {f"encrypted file {ring.file}"}


def test_without_a_terminal_the_error_is_one_and_quick(bed: Any, ring: FileRing, six: list[Any]) -> None:
    start = time.monotonic()
    ran = onboard(bed, *six, environment=ring.env, programs=_without_terminal(ring.folder))
    assert time.monotonic() - start < 30, "it hung"
    assert ran.code == 2
    said = " ".join(ran.text.split())
    assert "no terminal is available to ask for the passphrase" in said
    for way in ("KEYRING_PROPERTY_PASSPHRASE_FILE", "HPC_ONBOARD_PASSPHRASE_FD", "systemd credential hpc.onboard"):
        assert said.count(way) == 1
    assert keyed(six) == [False] * 5
    kept = [one for account in six for one in ran.statuses(account.name).values()]
    assert "missing" in kept, "the rest of each account is kept all the same"


def _without_terminal(folder: Path) -> Path:
    programs = folder / "bin"
    programs.mkdir()
    script = programs / "ansible-playbook"
    script.write_text(f'#!/bin/sh\nexec setsid -w {BIN}/ansible-playbook "$@" </dev/null\n')
    script.chmod(0o755)
    return programs


def test_on_a_machine_without_a_service_the_file_is_chosen_before_one_in_the_clear(bed: Any, ring: FileRing) -> None:
    programs = ring.folder / "bin"
    programs.mkdir()
    script = programs / "ansible-playbook"
    script.write_text(
        '#!/bin/sh\nunset PYTHON_KEYRING_BACKEND DBUS_SESSION_BUS_ADDRESS KEYRING_PROPERTY_FILE_PATH\n'
        f'exec {BIN}/ansible-playbook "$@"\n'
    )  # fmt: skip
    script.chmod(0o755)
    account = bed.new_account("lrz")
    own = {"KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file), "XDG_RUNTIME_DIR": "/nowhere"}
    ran = onboard(bed, account, environment={**ring.env, **own}, programs=programs)
    assert ran.code == 0, ran.text
    assert has_key(account)
    absent = str(ring.folder / "absent" / "keyring")
    account = bed.new_account("lrz")
    ran = onboard(bed, account, environment={**ring.env, **own, "KEYRING_PROPERTY_FILE": absent}, programs=programs)
    assert ran.code == 2
    assert "keyring set hpc.onboard ngc" in " ".join(ran.text.split())
    assert not os.path.exists(absent)


@exhaustive
def test_the_newest_ansible_core_asks_as_well(bed: Any, ring: FileRing) -> None:
    core = Core("prompts", "ansible-core>=2.20,<2.24", ("3.14", "3.13", "3.12"), ())
    python = found(core.pythons)
    if not python:
        pytest.skip(f"no Python {' or '.join(core.pythons)} here")
    programs = environment(core, python) / "bin"
    if subprocess.run([programs / "python", "-c", "import cryptography, keyring"], check=False).returncode:
        subprocess.run([programs / "pip", "install", "-qq", "cryptography>=44", "keyring>=25"], check=True)
    accounts = [bed.new_account("lrz"), bed.new_account("dfki")]
    run = at_terminal(bed, ring, accounts, programs)
    run.expect("Passphrase of .*: ")
    run.sendline(PASSPHRASE)
    code, said = finished(run)
    assert code == 0, said
    assert keyed(accounts) == [True, True]
