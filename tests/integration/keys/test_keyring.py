# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys from a real keyring service (GNOME Keyring on a D-Bus session of its own), and from none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import KEY, onboard

pytestmark = pytest.mark.testbed

UNLOCKED = """#!/bin/sh
unset PYTHON_KEYRING_BACKEND
exec dbus-run-session -- sh -c '
printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
printf %s {key} | {bin}/python -m keyring set hpc.onboard ngc >&2
exec {bin}/ansible-playbook "$@"' sh "$@"
"""
LOCKED = """#!/bin/sh
unset PYTHON_KEYRING_BACKEND
dbus-run-session -- sh -c '
printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
printf %s {key} | {bin}/python -m keyring set hpc.onboard ngc' >&2
exec dbus-run-session -- {bin}/ansible-playbook "$@"
"""
EARLY = """#!/bin/sh
unset PYTHON_KEYRING_BACKEND
exec dbus-run-session -- sh -c '
gnome-keyring-daemon --start --components=secrets >/dev/null 2>&1
exec {bin}/ansible-playbook "$@"' sh "$@"
"""
NONE = """#!/bin/sh
unset PYTHON_KEYRING_BACKEND DBUS_SESSION_BUS_ADDRESS
exec {bin}/ansible-playbook "$@"
"""
NO_RUNTIME = {"XDG_RUNTIME_DIR": "/nowhere"}


def _ansible_within(folder: Path, script: str) -> Path:
    """A folder whose ansible-playbook runs the real one within a session."""
    programs = folder / "bin"
    programs.mkdir()
    program = programs / "ansible-playbook"
    program.write_text(script.format(key=KEY, bin=Path(sys.executable).parent))
    program.chmod(0o755)
    return programs


def test_the_key_comes_from_a_keyring_service_for_all_accounts(bed: Any, tmp_path: Path) -> None:
    accounts = [bed.new_account("lrz"), bed.new_account("dfki"), bed.new_account("daint")]
    programs = _ansible_within(tmp_path, UNLOCKED)
    ran = onboard(bed, *accounts, environment=NO_RUNTIME, programs=programs)
    assert ran.code == 0, ran.text
    for account in accounts:
        folder = ".config/enroot" if account.name.endswith("@daint") else "enroot"
        lines = account.read(f"{folder}/.credentials").decode().splitlines()
        assert lines == [f"machine {m} login $oauthtoken password {KEY}" for m in ("nvcr.io", "authn.nvidia.com")]
    assert KEY not in ran.text
    assert ran.of(accounts[0].name)["keyring"] == "Secret Service, such as GNOME Keyring"


@pytest.mark.parametrize(
    ("script", "said"),
    [(LOCKED, "is locked; see the advice above"), (EARLY, "may have started before the keyring was unlocked")],
)
def test_a_service_that_is_not_unlocked_says_how(bed: Any, tmp_path: Path, script: str, said: str) -> None:
    accounts = [bed.new_account("lrz"), bed.new_account("dfki")]
    home = {"HOME": str(tmp_path)}
    ran = onboard(bed, *accounts, environment={**NO_RUNTIME, **home}, programs=_ansible_within(tmp_path, script))
    assert ran.code == 2
    shown = " ".join(ran.text.split())
    assert said in shown
    assert shown.count("gnome-keyring-daemon --unlock") == 1
    assert not accounts[0].exists("enroot/.credentials")


def test_without_a_keyring_service_a_plaintext_one_is_not_taken_in_its_place(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("lrz")
    ran = onboard(bed, account, environment=NO_RUNTIME, programs=_ansible_within(tmp_path, NONE))
    assert ran.code == 2
    said = " ".join(ran.text.split())
    file = "the encrypted file ~/.local/share/hpc.onboard/keyring"
    assert f"no keyring service is running on this machine, and {file} does not exist yet" in said
    assert "to create the file, run `keyring set hpc.onboard ngc`" in said
    assert not account.exists("enroot/.credentials")
    assert ran.statuses(account.name)["link ~/dss"] == "missing"
