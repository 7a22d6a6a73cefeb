# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What doctor makes of what it sees: each check in each of its states."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.action import doctor
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.credential import (
    Credential,
    read_certificate_files,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import parse_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import doctor_checks
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness.doctor_checks import (
    FAILED,
    OK,
    WARNING,
    DoctorCheck,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_format import derive_key, new_header, seal
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.keyring_backend import Keyring
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.ssh_certificate import FOREVER

TODAY = (2026, 11)


@pytest.mark.parametrize(
    ("version", "status", "words"),
    [
        ("2.18.3", FAILED, "too old"),
        ("2.19.14", WARNING, "no more security fixes after this month"),
        ("2.20.0", OK, "until 2027-05"),
        ("2.22.0rc1", OK, "until 2028-05"),
        ("2.23.0", WARNING, "newer than"),
    ],
)
def test_ansible_core(version: str, status: str, words: str) -> None:
    check = doctor_checks.check_version("ansible-core", version, TODAY)
    assert (check.status, words in check.text) == (status, True)


def test_what_has_had_no_fixes_for_long_is_said_with_the_month() -> None:
    assert "no security fixes since 2027-10" in doctor_checks.check_version("Python", "3.11.9", (2028, 1)).text
    assert doctor_checks.check_version("Python", "3.11.9", TODAY).status == OK
    assert doctor_checks.check_version("Python", "3.10.1", TODAY).status == FAILED
    assert doctor_checks.check_version("Python", "3.15.0", TODAY).status == WARNING


@pytest.mark.parametrize("needed", [True, False])
def test_a_keyring_that_fails_is_a_failure_where_a_key_is_needed(needed: bool) -> None:
    bad = FAILED if needed else WARNING
    assert doctor_checks.report_keyring_error("none", needed).status == bad


def test_after_a_rotation_the_key_that_a_run_would_install_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "current_keyring_name", lambda name: f"{name}@2")
    monkeypatch.setattr(doctor.backends, "choose_backend", lambda: (object(), []))
    monkeypatch.setattr(doctor.backends, "read_password", lambda _backend, name: "x" * 40 if name == "ngc@2" else None)
    assert doctor.inspect_keyring("ngc", is_needed=True).status == OK


def test_a_passphrase_file_that_is_not_private_comes_with_the_command_that_makes_it_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ring, ring.file, ring.passphrase_file = Keyring(), str(tmp_path / "keyring"), str(tmp_path / "pass")
    header = new_header({"name": "argon2id", "m": 64, "t": 1, "p": 1})
    Path(ring.file).write_bytes(seal({"hpc.onboard": {"ngc": "x" * 40}}, header, derive_key(header, "words")))
    Path(ring.passphrase_file).write_text("words\n", encoding="utf-8")
    Path(ring.file).chmod(0o600)
    monkeypatch.setattr(doctor.backends, "choose_backend", lambda: (ring, []))
    monkeypatch.setattr(doctor, "current_keyring_name", lambda name: name)
    for mode, is_refused in ((0o644, True), (0o600, False)):
        Path(ring.passphrase_file).chmod(mode)
        check = doctor.inspect_keyring("ngc", is_needed=True)
        assert (check.status == FAILED, f"chmod 600 {ring.passphrase_file}" in check.text) == (is_refused, is_refused)


def test_a_missing_key_comes_with_the_command_that_stores_it() -> None:
    check = doctor_checks.check_keyring("KWallet (x)", "ngc", False, [])
    assert (check.status, check.next) == (WARNING, "keyring set hpc.onboard ngc")
    assert doctor_checks.report_no_encrypted_file("encrypted file ~/x", "ngc").next == check.next
    assert doctor_checks.check_keyring("KWallet (x)", "ngc", True, []).status == OK
    assert "in the clear" in doctor_checks.check_keyring("x", "ngc", True, ["It is kept in the clear."]).text
    malformed = doctor_checks.check_keyring("x", "ngc", True, [], "the key is too short: copy it again")
    assert (malformed.status, malformed.next) == (FAILED, "keyring set hpc.onboard ngc")
    assert "the key 'ngc' in x is malformed: the key is too short" in malformed.text
    assert doctor_checks.report_locked_keyring("encrypted file ~/x").status == WARNING


@pytest.mark.parametrize(
    ("version", "status"),
    [
        (None, FAILED),
        ("OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.15", OK),
        ("OpenSSH_for_Windows_8.1p1, LibreSSL", OK),
        ("OpenSSH_7.2p2 Ubuntu", FAILED),
        ("OpenSSH_10.0p2", OK),
        ("Dropbear v2022.83", WARNING),
    ],
)
def test_ssh(version: str | None, status: str) -> None:
    assert doctor_checks.check_ssh(version, True).status == status


def test_agent() -> None:
    keys = "256 SHA256:a one (ED25519)\n256 SHA256:b two (ED25519)\n"
    assert doctor_checks.check_agent(0, keys, True) == DoctorCheck("ssh agent", OK, "the agent has 2 keys.")
    assert [doctor_checks.check_agent(code, "", True).status for code in (1, 2, None)] == [WARNING] * 3
    assert [doctor_checks.check_agent(code, "", False).status for code in (1, 2, None)] == [OK] * 3


def test_control_path_ends_where_an_address_does() -> None:
    longest = 103 - 17 - 10 - 1
    assert doctor_checks.check_control_path("/" + "x" * (longest - 1)).status == OK
    assert doctor_checks.check_control_path("/" + "x" * longest).status == FAILED
    assert doctor_checks.check_control_path("/" + "ü" * 40).status == FAILED


def test_a_folder_that_everybody_may_write_in_matters_where_its_settings_are_wanted() -> None:
    assert doctor_checks.check_folder(Path("/x"), 0o40777, True) == DoctorCheck(
        "folder",
        FAILED,
        "all users can write to /x, so Ansible ignores the ansible.cfg in this folder.",
        "chmod o-w /x",
    )
    assert doctor_checks.check_folder(Path("/x"), 0o40777, False).status == OK
    assert doctor_checks.check_folder(Path("/x"), 0o40755, True).status == OK


ACCOUNTS = "plugin: hpc.onboard.accounts\naccounts:\n  simone@wilson: {project: deep_lgt}\n"


def test_accounts_are_counted_by_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("accounts.yml").write_text(ACCOUNTS + "  ada@daint: {sandbox: true}\n")
    (check,), hosts = doctor_checks.check_accounts_file(tmp_path / "accounts.yml")
    assert (check.status, check.text) == (OK, "accounts.yml contains 1 account on clusters and 1 sandbox.")
    assert [doctor_checks.is_sandbox(host) for host in hosts] == [False, True]


def test_an_accounts_file_that_other_users_can_write_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "accounts.yml"
    file.write_text(ACCOUNTS)
    file.chmod(0o666)
    (_accounts, check), _hosts = doctor_checks.check_accounts_file(file)
    assert (check.status, check.next) == (WARNING, f"chmod go-w {file} {tmp_path}")
    assert "other users can write" in check.text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ACCOUNTS.replace("wilson", "wilsom"), 3),
        (ACCOUNTS + "  ada@lrz: {project: gr\udcfcn}\n", 4),
        ("", None),
    ],
)
def test_each_mistake_is_a_check_with_its_line(
    text: str, line: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("accounts.yml").write_text(text, encoding="utf-8", errors="surrogateescape")
    checks, hosts = doctor_checks.check_accounts_file(tmp_path / "accounts.yml")
    assert hosts == []
    assert {check.status for check in checks} == {FAILED}
    assert all(check.text.startswith(f"accounts.yml:{line}: " if line else "accounts.yml: ") for check in checks)


SETTINGS = [
    (
        "    job_scripts:\n      mail: a@b.de\n      templates: [bach]\n",
        6,
        "role job_scripts: templates: unknown name 'bach'",
    ),
    ("    job_scripts: {templates: [batch], minutes: -5}\n", 4, "role job_scripts: minutes"),
    ("    shell_environment:\n      variables: {A-B: x}\n", 4, "role shell_environment: 'A-B' is not a valid name"),
    ("    without: []\n    keep:\n      - script ~/bin/usrunn.sh\n", 6, "did you mean"),
]


@pytest.mark.parametrize(
    ("settings", "line", "said", "place"),
    [
        (*case, place)
        for case in SETTINGS
        for place in ("accounts", "defaults")
        if place == "accounts" or "keep:" not in case[0]  # keep is of one account
    ],
)
def test_a_value_that_a_role_refuses_is_a_check_with_its_line(
    settings: str, line: int, said: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    head = "plugin: hpc.onboard.accounts\n"
    own = f"{head}accounts:\n  simone@lrz:\n{settings}"
    shared = f"{head}defaults:\n{settings.replace(chr(10) + '  ', chr(10))[2:]}accounts:\n  simone@lrz:\n  ada@lrz:\n"
    Path("accounts.yml").write_text(own if place == "accounts" else shared)
    (check,), hosts = doctor_checks.check_accounts_file(tmp_path / "accounts.yml")
    assert (check.status, len(hosts)) == (FAILED, 1 if place == "accounts" else 2)
    assert check.text.startswith(f"accounts.yml:{line if place == 'accounts' else line - 1}: ")
    assert said in check.text


def test_settings_with_templates_are_no_mistakes(tmp_path: Path) -> None:
    settings = "    job_scripts: {minutes: '{{ 60 * 2 }}'}\n    keep: [script ~/bin/usrunn.sh]\n"
    (tmp_path / "accounts.yml").write_text(f"plugin: hpc.onboard.accounts\naccounts:\n  simone@lrz:\n{settings}")
    (check, *_others), _hosts = doctor_checks.check_accounts_file(tmp_path / "accounts.yml")
    assert check.status == OK


G = "hostname daint.alps.cscs.ch\nport 22\nuser simone\nproxyjump simone@ela.cscs.ch:2222,other\n"


def test_the_way_to_an_account() -> None:
    found = parse_settings(G)
    assert doctor_checks.first_jump_host(found) == "ela.cscs.ch"
    assert doctor_checks.first_jump_host({"proxyjump": ["%r@[fe80::1]:22"]}) == "fe80::1"
    assert doctor_checks.first_jump_host({}) is None
    assert doctor_checks.first_jump_host({"proxyjump": ["none"]}) is None
    there = doctor_checks.check_route("simone@daint", found, "ela.cscs.ch", True)
    assert there == DoctorCheck(
        "simone@daint", OK, "simone on daint.alps.cscs.ch port 22, through ela.cscs.ch."
    )  # fmt: skip
    lost = doctor_checks.check_route("simone@daint", found, "ela.cscs.ch", False)
    assert (lost.status, "VPN" in lost.next) == (FAILED, True)
    assert doctor_checks.check_route("simone@daint", found, "daint.alps.cscs.ch", None).status == OK
    assert "Bad configuration" in doctor_checks.report_ssh_error("x", "Bad configuration option: y\n").text


@pytest.mark.parametrize(
    ("left", "status"), [(timedelta(days=2), OK), (timedelta(minutes=50), WARNING), (timedelta(hours=-1), FAILED)]
)
def test_a_certificate_is_judged_by_its_end(left: timedelta, status: str, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for name in ("ca", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    span = f"20200101:{now + left:%Y%m%d%H%M%S}"
    order = ["ssh-keygen", "-q", "-s", "ca", "-I", "me", "-n", "simone", "-V", span, "key.pub"]
    subprocess.run(order, check=True, cwd=tmp_path, env={**os.environ, "TZ": "UTC"})
    (held,) = read_certificate_files({"identityfile": [str(tmp_path / "key")]})
    check = doctor_checks.check_credential("x", held, now, "cscs-key sign")
    assert (check.status, check.next) == (status, "" if status == OK else "cscs-key sign")
    assert str(tmp_path / "key-cert.pub") in check.text


def test_a_certificate_that_ssh_names_and_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no certificate")
    files = ["none", str(tmp_path / "missing"), str(tmp_path / "text")]
    now = datetime.now(UTC)
    checks = [
        doctor_checks.check_credential("x", held, now, "")
        for held in read_certificate_files({"certificatefile": files})
    ]
    assert [check.status for check in checks] == [WARNING, WARNING]
    assert all(check.next for check in checks)


def test_a_certificate_without_an_end_and_a_missing_ticket() -> None:
    now = datetime.now(UTC)
    endless = Credential("certificate", "k", FOREVER.replace(tzinfo=UTC))
    assert doctor_checks.check_credential("x", endless, now, "") == DoctorCheck(
        "x", OK, "k: the certificate never expires."
    )
    missing = doctor_checks.check_credential("x", Credential("ticket", "", None), now, "kinit")
    assert (missing.status, missing.next) == (FAILED, "kinit")
    assert (
        doctor_checks.check_credential("x", Credential("ticket", "", None), now, "").next
        == "get a new ticket with kinit"
    )


def test_the_result_fails_with_any_failed_check_and_says_what_to_do() -> None:
    good, mind, bad = (
        DoctorCheck("a", OK, "fine."),
        DoctorCheck("b", WARNING, "hm.", "c"),
        DoctorCheck("d", FAILED, "no.", "fix it"),
    )
    assert not doctor_checks.summarise([good, mind])["failed"]
    result = doctor_checks.summarise([good, mind, bad])
    assert (result["failed"], result["changed"]) == (True, False)
    assert result["msg"] == "1 failed, 1 warning, 1 ok\nd: no. Next: fix it"
    assert result["checks"][1] == {"name": "b", "status": "warning", "text": "hm.", "next": "c"}


def test_a_file_of_the_inventory_that_cannot_be_read_is_a_failed_check(tmp_path: Path) -> None:
    (tmp_path / "all.yml").symlink_to("/proc/self/mem")  # reading it fails, for root, too
    ((check,), hosts) = doctor.inspect_accounts_files([str(tmp_path)])
    assert (check.status, hosts) == (FAILED, [])
    assert "all.yml: the file cannot be read: EIO" in check.text


def test_the_agent_that_the_settings_of_ssh_name_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = {
        "ssh": 'case $1 in -V) echo OpenSSH_9.2p1 >&2;; *) echo "identityagent /own/agent";; esac',
        "ssh-add": '[ "$SSH_AUTH_SOCK" = /own/agent ] || exit 2; echo "256 SHA256:x ada (ED25519)"',
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    checks = {check.name: check for check in doctor.inspect_ssh(is_needed=True)}
    assert checks["ssh agent"] == DoctorCheck("ssh agent", OK, "the agent has 1 key.")
