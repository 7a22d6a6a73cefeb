# SPDX-License-Identifier: GPL-3.0-or-later
"""doctor.yml as people run it: it needs no account, and looks at what is broken without stopping there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import turns
from tests.integration.runs import KEY, PASSPHRASE, REPOSITORY, FileRing, Ran, keyring_environment, play

pytestmark = [pytest.mark.testbed, turns(2)]


def doctor(bed: Any, *arguments: str, **options: Any) -> tuple[Ran, dict[str, dict[str, str]]]:
    """A run of doctor.yml, and the last check of each name."""
    ran = play(bed, *arguments, playbook="doctor.yml", **options)
    (result,) = [one["result"] for one in ran.results]
    return ran, {check["name"]: check for check in result["checks"]}


def test_a_fresh_checkout_is_in_order(bed: Any) -> None:
    ran, checks = doctor(bed)
    assert ran.code == 0, ran.text
    assert {"Python", "ansible-core", "folder", "keyring", "ssh", "ssh agent", "ControlPath", "accounts"} == set(checks)
    assert "sandboxes" in checks["accounts"]["text"]
    assert "has the key 'ngc'" in checks["keyring"]["text"]
    assert KEY not in ran.text


def test_a_malformed_key_is_said_and_not_shown(bed: Any, tmp_path: Path) -> None:
    ran, checks = doctor(bed, environment=keyring_environment(tmp_path, KEY[:-1]))
    assert ran.code == 2
    assert "is malformed: the key is too short; NGC keys" in checks["keyring"]["text"]
    assert KEY[:-1] not in ran.text


def test_accounts_are_looked_up_and_a_certificate_that_is_gone_is_found(bed: Any, tmp_path: Path) -> None:
    good, lost = bed.new_account("lrz"), bed.new_account("dfki")
    jumped = bed.new_account("daint")
    config = tmp_path / "config"
    config.write_text("Host *\n  Hostname no-such-host.invalid\n  CertificateFile /no/such-cert.pub\n")
    settings = {lost.name: {"vars": {"ansible_ssh_common_args": f"-F {config}"}}}
    file = bed.accounts_file([good, lost, jumped], settings=settings)
    ran, checks = doctor(bed, "-i", str(file))
    assert ran.code == 2, ran.text
    assert checks[good.name]["status"] == "ok"
    assert f"{good.user} on {good.host} port 22." in checks[good.name]["text"]
    assert ", through " in checks[jumped.name]["text"]
    assert "/no/such-cert.pub" in checks[lost.name]["text"]
    assert "on no-such-host.invalid" in " ".join(ran.text.split())


def test_a_broken_accounts_file_is_a_check_among_others(bed: Any, tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text("plugin: hpc.onboard.accounts\naccounts:\n  simone@wilsom: {}\n")
    ran, checks = doctor(bed, "-i", str(file))
    assert ran.code == 2
    assert f'{file}:3: unknown cluster "wilsom"' in checks["accounts"]["text"]
    assert checks["ControlPath"]["status"] == "ok"
    other = play(bed, "-i", str(file))
    assert other.code == 2, "for other playbooks it stays the one error that it is"


def test_without_a_terminal_nobody_is_asked_and_nothing_hangs(bed: Any, tmp_path: Path) -> None:
    ring = FileRing(tmp_path, kdf=None)
    start = time.monotonic()
    ran, checks = doctor(bed, environment=ring.env)
    assert time.monotonic() - start < 20, "it hung"
    assert ran.code == 0
    assert checks["keyring"]["status"] == "warning"
    assert "cannot be read without its passphrase" in checks["keyring"]["text"]
    ran, checks = doctor(bed, environment={**ring.env, "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file)})
    assert checks["keyring"]["text"] == f"encrypted file {ring.file} has the key 'ngc'."
    absent = str(tmp_path / "none" / "keyring")
    _ran, checks = doctor(bed, environment={**ring.env, "KEYRING_PROPERTY_FILE": absent})
    assert checks["keyring"]["next"] == "keyring set hpc.onboard ngc"


def test_at_a_terminal_it_asks(bed: Any, tmp_path: Path) -> None:
    ring = FileRing(tmp_path, kdf=None)
    env = {**bed.client.environment(), **ring.env, "TERM": "dumb"}
    program = f"{env['PATH'].split(':')[0]}/ansible-playbook"
    run = pexpect.spawn(program, ["doctor.yml", "-v"], cwd=str(REPOSITORY), env=env, encoding="utf-8", timeout=60)
    run.expect("Passphrase of .*: ")
    run.sendline(PASSPHRASE)
    run.expect(r"has\s+the\s+key\s+'ngc'")
    run.expect(pexpect.EOF)
    run.close()
    assert run.exitstatus == 0
