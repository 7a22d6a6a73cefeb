# SPDX-License-Identifier: GPL-3.0-or-later
"""Login methods, jump hosts, and whether a user is there: nothing is sent that no user typed, in any combination."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pexpect
import pytest

from tests.effort import turns
from tests.integration.command.test_command import Desk
from tests.testbed.code_login import PORT, CodeLogin, code
from tests.testbed.further_sshd import FurtherSshd

pytestmark = pytest.mark.testbed

PASSWORD = "correct horse"
METHODS = "publickey,keyboard-interactive,password"
ASKING = ("password", "key and code", "password and code")
LOGINS = ("key", "another key", *ASKING)
JUMPS = ("none", "key", *ASKING)
USERS = ("cron", "cron, not declared", "terminal")
CELLS = [(login, jump, user) for login in LOGINS for jump in JUMPS for user in USERS]


class Seen(NamedTuple):
    """The counts of one hop's sshd. sent: answers that it refused."""

    connections: int
    sent: int
    keys: int


def sshd(cluster: Any, method: str, account: Any) -> FurtherSshd:
    """Start the sshd of one hop, at which this account logs in by this method."""
    if method.endswith("code"):
        door = CodeLogin(cluster, PASSWORD if method.startswith("password") else "")
        door.admit([account])
        return door
    if method == "password":
        cluster.world.run("chpasswd", "-c", "SHA256", text=f"{account.user}:{PASSWORD}\n")
        settings = {"PasswordAuthentication": "yes", "AuthenticationMethods": "password"}
    else:
        settings = {"AuthorizedKeysFile": "none"} if method == "another key" else {}
    return FurtherSshd(cluster, "coded", PORT, settings)


def seen(door: FurtherSshd | None) -> Seen:
    said = door.said if door else ""
    refused = re.findall(r": Failed (\S+) for ", said)
    keys = refused.count("publickey")
    return Seen(door.connections if door else 0, len(refused) - keys, keys)


def run(desk: Desk, user: str) -> tuple[int, str]:
    """Onboard, and answer rightly what a user is asked."""
    if user != "terminal":
        ran = desk.types("onboard", "--tags", "container_caches")
        return ran.returncode, ran.stdout + ran.stderr
    shown = desk.at_terminal("onboard", "--tags", "container_caches")
    said = ""
    while (at := shown.expect(["(?i)one-time password", "(?i)password:", pexpect.EOF])) < 2:
        said += str(shown.before)
        shown.sendline((code(), PASSWORD)[at])
    shown.close()
    return int(shown.exitstatus or 0), said + str(shown.before)


@turns(10)
@pytest.mark.parametrize(("login", "jump", "user"), CELLS)
def test_nothing_is_sent_that_no_user_typed(
    bed: Any, tmp_path: Path, say: Callable[[str], None], login: str, jump: str, user: str
) -> None:
    site = "narval" if jump == "none" else "daint"
    account = bed.new_account(site)
    hops = {"login": sshd(bed.cluster(site), login, account)}
    own = f"Host ela\n    Port {PORT}\n    PreferredAuthentications {METHODS}\n"
    if jump != "none":
        hops["jump"] = sshd(bed.cluster("ela"), jump, account)
    (tmp_path / "config").write_text(own + Path(bed.ssh_config).read_text(encoding="ascii"), encoding="ascii")
    way = {
        "ansible_port": PORT,
        "ansible_ssh_common_args": f"-F {tmp_path}/config",
        "ansible_ssh_extra_args": f"-o PreferredAuthentications={METHODS}",
    }
    asks = login in ASKING or jump in ASKING
    entry = {"auth": "ask" if asks and user != "cron, not declared" else "key", "vars": way}
    exit_code, said = run(Desk(bed, account, settings={account.name: entry}), user)

    counts = {name: seen(door) for name, door in hops.items()}
    shown = ", ".join(f"{name} {one.connections}/{one.sent}" for name, one in counts.items())
    say(f"{login:18}  jump: {jump:18}  {user:20}  connections/refused answers: {shown}")
    assert [one.sent for one in counts.values()] == [0] * len(hops), said
    assert all(one.connections <= 1 + asks for one in counts.values()), (counts, said)
    enters = login != "another key" and (user == "terminal" or not asks)
    assert (exit_code == 0) is enters, said
    if user == "cron" and asks:
        assert {one.connections for one in counts.values()} == {0}, said
