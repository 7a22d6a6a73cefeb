# SPDX-License-Identifier: GPL-3.0-or-later
"""Fermilab's door: a Kerberos ticket, and a home that only a forwarded one opens; a real KDC, a real sshd."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.command.test_command import Desk
from tests.integration.onboard.test_code_login import ended
from tests.testbed.realm import PASSWORD, PORT, REALM, Realm

pytestmark = pytest.mark.testbed


class Physicist(Desk):
    """Somebody with one account on Wilson, who gets in by a ticket alone."""

    def __init__(self, bed: Any, folder: Path, own: str = "") -> None:
        self.account = bed.new_account("wilson")
        self.realm = Realm(bed.cluster("wilson"), folder)
        self.realm.admit(self.account)
        config = folder / "ssh_config"
        usual = Path(bed.ssh_config).read_text(encoding="ascii")
        config.write_text(usual.replace("cations publickey", "cations gssapi-with-mic,publickey"), encoding="ascii")
        way = {"ansible_port": PORT, "ansible_ssh_common_args": f"-F {config}"}
        variables = {**way, **({"ansible_ssh_extra_args": own} if own else {})}
        super().__init__(bed, self.account, settings={self.account.name: {"auth": None, "vars": variables}})
        self.environment = {**self.environment, **self.realm.environment}
        self.command = f"kinit -f {self.account.user}@{REALM}"

    def hears(self, verb: str, exit_code: int) -> str:
        """What a run without a terminal says."""
        ran = self.types(verb)
        said = " ".join((ran.stdout + ran.stderr).split())
        assert ran.returncode == exit_code, said
        return said


def test_kinit_is_run_if_the_person_agrees_and_the_forwarded_ticket_opens_the_home(bed: Any, tmp_path: Path) -> None:
    desk = Physicist(bed, tmp_path)
    account, realm = desk.account, desk.realm
    for verb, exit_code in (("onboard", 4), ("preflight", 2), ("audit", 2)):
        said = desk.hears(verb, exit_code)
        assert "you have no Kerberos ticket" in said
        assert desk.command in said
    assert realm.door.connections == 0

    run = desk.at_terminal("onboard")
    run.expect(r"you have no Kerberos ticket\. Run 'kinit .*\[y/N\]")
    run.sendline("y")
    run.expect(f"Password for {account.user}@{REALM}: ")
    run.sendline(PASSWORD)
    exit_code, said = ended(run)
    assert exit_code == 0, said
    assert PASSWORD not in said
    assert account.exists(".apptainer/docker-config.json")
    assert realm.door.connections == 1

    again = desk.at_terminal("onboard")
    exit_code, said = ended(again)
    assert exit_code == 0, said
    assert "ticket" not in said
    assert desk.types("audit").returncode == 0
    assert "1 reachable" in desk.types("preflight").stdout


SHUT = [  # what the person's ssh says, and of kinit; what the account is told of
    ("delegation is off", "-o GSSAPIDelegateCredentials=no", "-f"),
    ("the ticket cannot be forwarded", "", "-F"),
]


@turns(2)
@pytest.mark.parametrize(("claim", "own", "option"), SHUT)
def test_a_home_that_no_ticket_came_along_to_is_told_apart(
    bed: Any, tmp_path: Path, claim: str, own: str, option: str
) -> None:
    desk = Physicist(bed, tmp_path, own)
    desk.realm.ticket(desk.account, option)
    for verb in ("onboard", "preflight", "audit"):
        said = desk.hears(verb, 2)
        assert "needs a Kerberos ticket, but this session has none" in said, claim
    assert desk.realm.door.accepted == 3, "each let in: it is the home that is shut"


def test_a_home_that_is_broken_is_not_called_one_without_a_ticket(bed: Any, tmp_path: Path) -> None:
    desk = Physicist(bed, tmp_path)
    desk.realm.ticket(desk.account, "-f")
    desk.account.cluster.world.run("chmod", "0", desk.account.home)
    said = desk.hears("onboard", 2)
    assert "this session has none" not in said
    assert "EACCES" in said


def test_a_ticket_that_has_ended_is_not_tried(bed: Any, tmp_path: Path) -> None:
    desk = Physicist(bed, tmp_path)
    desk.realm.ticket(desk.account, "-f", "-l", "1s")
    time.sleep(2)
    said = desk.hears("preflight", 2)
    assert "the ticket expired on" in said
    assert desk.command in said
    assert desk.realm.door.connections == 0
