# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates and tickets as real programs of this machine tell of them, and the commands that make new ones."""

from __future__ import annotations

import os
import pty
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import schema
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import (
    credential,
    renewers,
    renewing,
    terminal,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.credential import (
    Credential,
    OfferedCertificate,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.offered_keys import OfferedKeys
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.programs import LocalOutput, ssh_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.ssh_certificate import Certificate

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def variables(archetype: str, config: Path, **account: str) -> dict[str, Any]:
    """Those of an account, as far as they matter."""
    ways = {"ansible_host": "daint", "ansible_ssh_common_args": f"-F {config}"}
    return {"cluster": {"auth": {"archetype": archetype}}, "account": account, **ways}


@pytest.mark.parametrize(
    ("minutes", "ended", "wanted", "says"),
    [
        (-1, True, True, "expired on"),
        (0, True, True, "expired on"),
        (5, False, True, "expires on"),
        (60, False, False, "expires on"),
    ],
)
def test_what_ends_within_minutes_is_to_be_renewed_and_serves_still(
    minutes: int, ended: bool, wanted: bool, says: str
) -> None:
    held = Credential("certificate", "", NOW + timedelta(minutes=minutes))
    assert (held.is_unusable(NOW), held.needs_renewal(NOW), says in held.describe(NOW)) == (ended, wanted, True)


def test_no_ticket_has_ended() -> None:
    held = Credential("ticket", "", None)
    assert (held.is_unusable(NOW), held.needs_renewal(NOW)) == (True, True)
    assert held.describe(NOW) == "you have no Kerberos ticket"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    """The socket of an agent that holds a key with a certificate, which lies in no file."""
    socket, key = tmp_path / "agent", tmp_path / "key"
    server = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    for name in ("authority", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    sign = ["ssh-keygen", "-q", "-s", str(tmp_path / "authority"), "-I", "ada", "-n", "ada"]
    dates = "20200101120000:20200102120000"
    subprocess.run([*sign, "-V", dates, f"{key}.pub"], check=True, env={"TZ": "UTC", "PATH": os.environ["PATH"]})
    environment = {"SSH_AUTH_SOCK": str(socket), "PATH": os.environ["PATH"]}
    while subprocess.run(["ssh-add", "-q", str(key)], env=environment, check=False).returncode:
        assert server.poll() is None
    Path(f"{key}-cert.pub").unlink()
    yield socket
    server.terminate()
    server.wait()


def test_a_certificate_in_the_agent_is_read(agent: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"Host daint\n  User ada\n  IdentityAgent {agent}\n  IdentityFile {tmp_path}/none\n")
    held = credential.find_credential(variables("certificate", config), NOW)
    assert held == Credential("certificate", "the agent", datetime(2020, 1, 2, 12, tzinfo=UTC))
    config.write_text(f"Host daint\n  IdentityAgent none\n  IdentityFile {tmp_path}/none\n")
    assert credential.find_credential(variables("certificate", config), NOW) == Credential("certificate", "", None)
    assert credential.find_credential(variables("certificate", config, auth="key"), NOW) is None


def test_a_certificate_in_the_agent_that_ssh_would_not_offer_is_none(agent: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"Host *\n  IdentitiesOnly yes\n  IdentityAgent {agent}\n  IdentityFile {tmp_path}/none\n")
    assert credential.find_credential(variables("certificate", config), NOW) == Credential("certificate", "", None)


def test_the_agent_of_a_variable_is_asked_for_its_keys(agent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_OF_ADA", str(agent))
    keys = OfferedKeys({"identityagent": ["$AGENT_OF_ADA"]})
    assert keys.has_agent
    assert keys.agent_keys
    assert not OfferedKeys({"identityagent": ["none"]}).has_agent


@pytest.mark.parametrize(("renewer", "chosen"), [("cscs-key", "cscs-key"), ("sshproxy", "nersc")])
def test_the_file_of_cscs_key_is_that_of_its_own_sites_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renewer: str, chosen: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    config = tmp_path / "config"
    config.write_text(f"Host daint\n  User ada\n  IdentityAgent none\n  IdentityFile {tmp_path}/.ssh/cscs-key\n")
    config.write_text(f"{config.read_text()}  IdentityFile {tmp_path}/.ssh/nersc\n")
    (tmp_path / ".ssh").mkdir()
    for name, dates in (("cscs-key", "20200101:20200102"), ("nersc", "20200101:20300102")):
        key, authority = tmp_path / ".ssh" / name, tmp_path / f"authority of {name}"
        for file in (key, authority):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
        sign = ["ssh-keygen", "-q", "-s", str(authority), "-I", "ada", "-n", "ada", "-V", dates, f"{key}.pub"]
        subprocess.run(sign, check=True)
    account = variables("certificate", config)
    account["cluster"]["auth"]["renewer"] = renewer
    held = credential.find_credential(account, NOW)
    assert held
    assert held.place == f"{tmp_path}/.ssh/{chosen}-cert.pub"


OWN, OTHER = "/keys/cscs-key-cert.pub", "/keys/id-cert.pub"
EARLY, SOON, LATE = datetime(2026, 11, 20), datetime(2026, 11, 22), datetime(2027, 11, 22)


@pytest.mark.parametrize(
    ("offered", "place", "problem"),
    [
        ([], "", "you have no certificate"),
        ([(OWN, EARLY, SOON, "ada", "site")], OWN, ""),
        ([(OWN, SOON, LATE, "ada", "site")], OWN, "the certificate is not valid before 2026-11-22"),
        ([(OWN, EARLY, SOON, "bob", "site")], OWN, "the certificate is for bob, not for ada"),
        ([(OWN, EARLY, SOON, "ada@example.org", "site")], OWN, ""),
        ([(OWN, EARLY, EARLY, "ada", "site"), (OTHER, EARLY, LATE, "ada", "other")], OWN, "the certificate expired on"),
        ([(OWN, EARLY, EARLY, "ada", "site"), (OTHER, EARLY, SOON, "ada", "site")], OTHER, ""),
        ([(OTHER, EARLY, LATE, "bob", "other"), ("the agent", EARLY, SOON, "ada", "site")], "the agent", ""),
    ],
)
def test_the_certificate_that_the_site_takes_is_chosen(
    offered: list[tuple[str, datetime, datetime, str, str]], place: str, problem: str
) -> None:
    every = [OfferedCertificate(path, Certificate(start, end, (name,), by)) for path, start, end, name, by in offered]
    held = credential.choose_certificate(every, "ada", OWN, NOW)
    assert (held.place, held.is_unusable(NOW)) == (place, bool(problem))
    assert held.describe(NOW).startswith(problem)


MIT = """Ticket cache: FILE:/tmp/krb5cc_0
Default principal: ada@FNAL.GOV

Valid starting       Expires              Service principal
11/21/2026 08:00:00  11/22/2026 09:00:00  krbtgt/FNAL.GOV@FNAL.GOV
\trenew until 11/28/2026 08:00:00
11/21/2026 08:00:00  11/23/2026 09:00:00  krbtgt/CERN.CH@FNAL.GOV
"""
HEIMDAL = """Credentials cache: FILE:/tmp/krb5cc_0
        Principal: ada@FNAL.GOV

  Issued                Expires               Principal
Nov 21 08:00:00 2026  Nov 22 09:00:00 2026  krbtgt/FNAL.GOV@FNAL.GOV
"""


@pytest.mark.parametrize(
    ("said", "user", "realm", "sentence"),
    [
        (LocalOutput(0, MIT, ""), "ada", "FNAL.GOV", "the ticket expires on 2026-11-22 09:00"),
        (LocalOutput(0, HEIMDAL, ""), "ada", "", "the ticket expires on 2026-11-22 09:00"),
        (LocalOutput(0, HEIMDAL, ""), "bob", "FNAL.GOV", "the Kerberos ticket is for ada, not for bob"),
        (LocalOutput(0, MIT, ""), "ada", "CERN.CH", "the Kerberos ticket is for the realm FNAL.GOV, not for CERN.CH"),
        (
            LocalOutput(1, "", "klist: No credentials cache found (filename: /tmp/krb5cc_0)"),
            "",
            "",
            "you have no Kerberos",
        ),
        (LocalOutput(1, "", "klist: No ticket file: /tmp/krb5cc_0"), "", "", "you have no Kerberos ticket"),
        (LocalOutput(0, MIT.partition("Valid")[0], ""), "ada", "FNAL.GOV", "you have no Kerberos ticket"),
    ],
)
def test_a_ticket_is_read_as_both_programs_print_it(said: LocalOutput, user: str, realm: str, sentence: str) -> None:
    held = credential.read_ticket(said, user, realm)
    assert held
    assert held.describe(NOW).startswith(sentence)


def test_the_ticket_of_another_cache_serves_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "all"
    cern = MIT.replace("FNAL.GOV", "CERN.CH")
    here.write_text(cern)
    program = tmp_path / "klist"
    program.write_text(f'#!/bin/sh\n[ "$1" = -A ] && exec cat {there}\nexec cat {here}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    account = {"cluster": {"auth": {"archetype": "kerberos", "realm": "FNAL.GOV"}}, "account": {"user": "ada"}}
    for caches, sentence in (
        (cern + "\n" + MIT, "the ticket expires on 2026-11-22 09:00"),
        (cern, "the Kerberos ticket is for the realm CERN.CH, not for FNAL.GOV"),
        ("Usage", "the Kerberos ticket is for the realm CERN.CH, not for FNAL.GOV"),
    ):
        there.write_text(caches)
        held = credential.find_credential(account, NOW)
        assert held
        assert held.describe(NOW).startswith(sentence)


@pytest.mark.parametrize(
    "said", [LocalOutput(None, "", ""), LocalOutput(0, "Usage: klist [-cfsA]\n", ""), LocalOutput(1, "", "?")]
)
def test_what_is_not_clear_is_not_called_no_ticket(said: LocalOutput) -> None:
    assert credential.read_ticket(said, "ada", "FNAL.GOV") is None


def test_whoever_gets_in_by_a_key_wants_no_ticket(tmp_path: Path) -> None:
    assert credential.find_credential(variables("kerberos", tmp_path / "none", auth="key"), NOW) is None
    assert credential.find_credential(variables("key", tmp_path / "none"), NOW) is None


HOME_KEY = os.path.expanduser("~/.ssh/cscs-key")


@pytest.mark.parametrize(
    ("auth", "place", "command"),
    [
        ({"renewer": "cscs-key"}, f"{HOME_KEY}-cert.pub", "cscs-key sign"),
        ({"renewer": "cscs-key"}, "the agent", "cscs-key sign"),
        ({"renewer": "cscs-key"}, "/keys/day-cert.pub", "cscs-key sign -f /keys/day"),
        ({"renewer": "step"}, "the agent", "step ssh login"),
        ({"renewer": "kinit", "realm": "FNAL.GOV", "delegate": True}, "", "kinit -f ada@FNAL.GOV"),
        ({"renewer": "kinit"}, "", "kinit ada"),
        ({"renewer": "sshproxy"}, "", "sshproxy.sh -u ada"),
        ({"command": "rm -rf /", "renewer": "rm"}, "", ""),
        ({"command": "cscs-key sign"}, "", ""),
    ],
)
def test_the_arguments_of_a_renewer_are_ours(auth: dict[str, Any], place: str, command: str) -> None:
    assert " ".join(renewers.renewal_command({"auth": auth}, "ada", place)) == command


def test_every_renewer_of_the_schema_has_a_command_and_a_place_to_get_it_from() -> None:
    named = schema("cluster")["properties"]["auth"]["properties"]["renewer"]["enum"]
    assert sorted(named) == sorted(renewers.RENEWERS)
    for name in named:
        assert "install it from" in renewers.explain_missing_program(
            renewers.renewal_command({"auth": {"renewer": name}}, "ada", "")
        )


@pytest.mark.parametrize("code", [0, 3])
def test_a_program_at_a_terminal_has_one_of_its_own(code: int, tmp_path: Path) -> None:
    main, there = pty.openpty()

    def person() -> None:
        while b"Password: " not in os.read(main, 100):
            pass
        os.write(main, b"swordfish\n")

    threading.Thread(target=person, daemon=True).start()
    text = f'printf "Password: " >/dev/tty; read -r word </dev/tty; printf %s "$word" >{tmp_path}/typed; exit {code}'
    assert terminal.run_at_terminal(["sh", "-c", text], os.ttyname(there)) == code
    assert (tmp_path / "typed").read_text() == "swordfish"
    os.close(main)
    os.close(there)


def test_a_renewer_that_another_users_terminal_refuses_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After su, the terminal is another user's."""
    held = Credential("certificate", "", NOW - timedelta(days=1))
    monkeypatch.setattr(renewing, "find_credential", lambda _variables, _now: held)
    monkeypatch.setattr(renewing, "renewal_command", lambda *_words: ["true"])

    def refused(*_words: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(terminal.os, "open", refused)
    state, said = renewing.renew_credential({"inventory_hostname": "ada@daint"}, "/dev/pts/1", lambda _question: "y")
    assert state == "ended"
    assert said.endswith("'true' could not be started at /dev/pts/1 (Permission denied). Run the command yourself")


def test_files_with_tokens_are_found_where_ssh_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYS", str(tmp_path))
    config = tmp_path / "config"
    files = f"IdentityFile {tmp_path}/%r@%h\nCertificateFile ${{KEYS}}/%p%%.pub\n"
    config.write_text(f"Host daint\nHostName d.site.org\nUser ada\n{files}")
    settings = ssh_settings(["-F", str(config), "daint"], 5)
    assert credential.list_files(settings, "identityfile") == [f"{tmp_path}/ada@d.site.org"]
    assert credential.list_files(settings, "certificatefile") == [f"{tmp_path}/22%.pub"]
    (tmp_path / "ada@d.site.org").touch()
    assert OfferedKeys(settings).files == [f"{tmp_path}/ada@d.site.org"]
