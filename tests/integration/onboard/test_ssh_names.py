# SPDX-License-Identifier: GPL-3.0-or-later
"""ssh wilson leads to the account, for a person with settings of their own, and goes again with it.

ssh takes the home of the user database, not HOME: here it is another one, in a mount namespace of its own.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import turns
from tests.integration.command.test_command import Desk
from tests.integration.onboard.test_code_login import ended
from tests.integration.runs import COMMAND
from tests.testbed.code_login import PORT, CodeLogin, code

pytestmark = [pytest.mark.testbed, turns(3)]

INSIDE = 'mount --bind "$0" /etc/passwd && exec "$@"'
OWN = "Host mine\n    HostName mine.example.org\n    ForwardAgent yes\n"


class Person(Desk):
    """Somebody with a home and with settings of ssh of their own. user: whose home ssh takes for theirs."""

    def __init__(self, bed: Any, home: Path, *accounts: Any, settings: dict[str, dict[str, Any]] | None = None) -> None:
        self.home, self.passwd = home / "h", home / "passwd"
        self.home.mkdir(mode=0o700)
        mine = pwd.getpwuid(os.getuid())
        text = Path("/etc/passwd").read_text(encoding="utf-8")
        self.passwd.write_text(text.replace(f":{mine.pw_dir}:{mine.pw_shell}", f":{self.home}:/bin/sh", 1))
        (self.home / ".ssh").mkdir(mode=0o700)
        base = Path(bed.ssh_config).read_text(encoding="ascii").partition("Host *\n")[2]
        known = [f"Host {bed.cluster(name).host}\n    HostKeyAlias {name}\n" for name in bed.clusters]
        config = self.home / ".ssh/config"
        config.write_text(f"{OWN}{''.join(known)}Host *\n{base}".rstrip(), encoding="ascii")  # and no line end
        config.chmod(0o600)
        own = settings or {}
        plain = {"ansible_ssh_common_args": "", "ansible_ssh_private_key_file": ""}
        for account in accounts:
            entry = own.setdefault(account.name, {})
            entry["vars"] = {**plain, **entry.get("vars", {})}
        super().__init__(bed, *accounts, settings=own)
        self.environment["HOME"] = str(self.home)

    def inside(self, *command: str) -> list[str]:
        """The command with this home in the user database."""
        return ["unshare", "--mount", "--propagation=private", "sh", "-c", INSIDE, str(self.passwd), *command]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run any program as the person does, with no terminal."""
        environment = {**self.bed.client.environment(), **self.environment}
        return subprocess.run(
            self.inside(*command), cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip

    def types(self, *words: str, program: str = "hpc-onboard", **_more: str) -> subprocess.CompletedProcess[str]:
        done = self.run(str(Path(COMMAND).with_name(program)), *words)
        self.bed.client.disconnect()
        return done

    def at_terminal(self, *words: str, **_more: str) -> pexpect.spawn[str]:
        environment = {**self.bed.client.environment(), **self.environment, "TERM": "dumb"}
        program, *arguments = self.inside(COMMAND, *words)
        return pexpect.spawn(
            program, arguments, cwd=str(self.folder), env=environment, encoding="utf-8", timeout=60,
            dimensions=(24, 80),
        )  # fmt: skip

    def ssh(self, *words: str) -> str:
        """What a command over ssh prints; ssh asks nobody."""
        done = self.run("ssh", "-o", "BatchMode=yes", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def tree(self) -> dict[str, tuple[int, bytes]]:
        """All that lies in ~/.ssh."""
        return {path.name: (path.stat().st_mode, path.read_bytes()) for path in (self.home / ".ssh").iterdir()}


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="s", dir="/tmp"))  # a socket's path is short
    yield folder
    for socket in folder.glob("h/.local/state/hpc.onboard/ssh/*"):
        subprocess.run(
            ["ssh", "-F", os.devnull, "-S", str(socket), "-O", "exit", "any"], capture_output=True, check=False
        )
    shutil.rmtree(folder)


def said(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stdout + done.stderr).split())


def test_names_lead_to_accounts_and_go_with_them(bed: Any, home: Path) -> None:
    wilson, daint = bed.new_account("wilson"), bed.new_account("daint")
    one, two = bed.new_account("dfki"), bed.new_account("dfki")
    jump = f"-o ProxyJump={daint.user}@{bed.cluster('ela').host}"
    accounts = (wilson, daint, one, two)
    person = Person(bed, home, *accounts, settings={daint.name: {"vars": {"ansible_ssh_common_args": jump}}})
    before, hosts = person.tree(), ("mine", "other.example.org", *(account.host for account in accounts))
    mine = [person.ssh("-G", host) for host in hosts]

    first = person.types("onboard", "wilson")
    assert "run: hpc-onboard ssh-config" in said(first)
    refused = person.types("ssh-config")
    assert refused.returncode == 2, said(refused)
    assert "ssh-config --yes" in said(refused)
    declined = person.at_terminal("ssh-config")
    declined.expect(r"Apply these changes\?")
    shown = str(declined.before)
    assert "Host wilson" in shown
    assert f"Host {one.user}-dfki" in shown
    assert "Host dfki" not in shown
    declined.sendline("n")
    assert ended(declined)[0] == 0
    assert said(person.types("ssh-config", "--check")).count("to write") == 1
    assert person.tree() == before

    agreed = person.at_terminal("ssh-config", "-l", "wilson")
    agreed.expect(r"Apply these changes\?")
    agreed.sendline("y")
    exit_code, text = ended(agreed)
    assert exit_code == 0, text
    assert f"ssh daint {daint.name}" in text.replace(" " * 2, " "), "a limit leaves no account out"
    assert person.ssh("wilson", "id -un") == wilson.user
    assert person.ssh("daint", "id -un") == daint.user
    assert person.ssh(f"{one.user}-dfki", "id -un") == one.user
    assert person.ssh(f"{two.user}-dfki", "id -un") == two.user
    assert [person.ssh("-G", host) for host in hosts] == mine
    told = said(person.types("doctor"))
    names = f"`ssh wilson`, `ssh daint`, `ssh {one.user}-dfki`"
    assert names in told, told[told.index("ssh names") :][:300]
    config = person.home / ".ssh/config"
    accepted = config.read_bytes()
    config.write_bytes(b"Hosts wilson\n" + accepted)
    told = said(person.types("doctor"))
    refusal = f"ssh names: ssh refuses the settings: {config}: line 1: Bad configuration option: hosts"
    assert refusal in told, told[told.index("ssh names") :][:300]
    config.write_bytes(accepted)

    whole = person.tree()
    again = person.types("ssh-config", "-l", "wilson", "-e", "ssh_config_sure=true")
    assert (again.returncode, "unchanged" in again.stdout) == (0, True), said(again)
    rest = person.types("onboard")
    assert (rest.returncode, "ssh-config" in rest.stdout) == (0, False), said(rest)
    assert person.tree() == whole

    gone = person.types("offboard", "wilson", "-e", "offboard_sure=true")
    assert gone.returncode == 0, said(gone)
    left = (person.home / ".ssh/hpc.onboard.conf").read_text()
    assert "Host wilson" not in left
    assert "Host daint" in left
    rest = person.types("offboard", "-e", "offboard_sure=true")
    assert rest.returncode == 0, said(rest)
    assert person.tree() == before


def test_a_session_by_hand_and_one_of_a_run_are_the_same(bed: Any, home: Path) -> None:
    door, asking, free = CodeLogin(bed.cluster("narval")), bed.new_account("narval"), bed.new_account("wilson")
    door.admit([asking])
    own = {asking.name: {"auth": "ask", "vars": {"ansible_port": PORT}}}
    person = Person(bed, home, asking, free, settings=own)
    config = person.home / ".ssh/config"
    config.write_text(config.read_text().replace("PreferredAuthentications publickey", "LogLevel ERROR"))
    assert person.types("ssh-config", "-e", "ssh_config_sure=true").returncode == 0
    run = person.at_terminal("connect")
    run.expect("One-time password")
    run.sendline(code())
    exit_code, text = ended(run)
    assert exit_code == 0, text
    assert person.ssh("narval", "id -un") == asking.user, "the session of the run"
    assert door.connections == 1

    assert person.run("ssh", "-o", "BatchMode=yes", "-Nf", "wilson").returncode == 0
    logins = free.logins()
    assert person.types("onboard").returncode == 0
    assert free.logins() == logins, "the session by hand"
    assert door.connections == 1


def test_what_a_person_has_changed_is_said(bed: Any, home: Path) -> None:
    account = bed.new_account("wilson")
    person = Person(bed, home, account)
    config = person.home / ".ssh/config"
    first = config.read_text()
    config.write_text(f"Host wilson\n    HostName elsewhere.example.org\n{first}")
    assert person.types("ssh-config", "-e", "ssh_config_sure=true").returncode == 0
    assert person.ssh(f"{account.user}-wilson", "id -un") == account.user, "wilson is theirs"
    assert "elsewhere" in person.ssh("-G", "wilson")
    for change, words in (
        (
            lambda text: f"Host *-wilson\n    User else\n{text}",
            f"connects to else@{account.host}, not to {account.user}@",
        ),
        (lambda text: f"{text}Host late\n    User me\n", "settings below the lines of hpc-onboard"),
        (
            lambda text: text.replace("Include ~/.ssh/hpc.onboard.conf\n", ""),
            "no longer includes ~/.ssh/hpc.onboard.conf",
        ),
    ):
        whole = config.read_text()
        config.write_text(change(whole))
        assert words in said(person.types("doctor"))
        config.write_text(whole)
    assert person.types("onboard").returncode == 0
    whole = config.read_text()
    config.write_text(whole.replace("Match all\nInclude ~/.ssh", "Include ~/.ssh"))
    gone = person.types("offboard", "-e", "offboard_sure=true")
    assert (gone.returncode, "was changed by hand" in said(gone)) == (2, True), said(gone)
    assert not account.exists(".apptainer"), "what is in the way here keeps nothing on the account"
    config.write_text(whole)
    out = ("ssh-config", "-e", "ssh_config_state=absent", "-e", "ssh_config_sure=true")
    config.chmod(0o666)
    blocked = person.types(*out)
    assert (blocked.returncode, "chmod go-w ~/.ssh/config" in said(blocked)) == (2, True), said(blocked)
    config.chmod(0o600)
    assert person.types(*out).returncode == 0
    assert "hpc.onboard" not in config.read_text()
