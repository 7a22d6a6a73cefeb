# SPDX-License-Identifier: GPL-3.0-or-later
"""Doors with no shared connection: a site that forbids it and asks for a code, and a login node with MaxSessions 1."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.effort import turns
from tests.integration.command.test_command import Desk
from tests.integration.onboard.test_code_login import ended
from tests.integration.runs import REPOSITORY
from tests.testbed.code_login import PORT, CodeLogin, code
from tests.testbed.further_sshd import FurtherSshd

pytestmark = pytest.mark.testbed

SINGLE = 2227  # the port of an sshd with MaxSessions 1


class Forbidden(Desk):
    """Somebody with accounts where a code is asked for, and multiplexing is forbidden (OLCF)."""

    def __init__(self, bed: Any, folder: Path, *accounts: Any) -> None:
        asks = "-o PreferredAuthentications=publickey,keyboard-interactive"
        entry = {"auth": None, "vars": {"ansible_port": PORT, "ansible_ssh_extra_args": asks}}
        super().__init__(bed, *accounts, settings={account.name: entry for account in accounts})
        profile = yaml.safe_load((REPOSITORY / "inventory/clusters/narval.yml").read_text(encoding="utf-8"))
        profile["auth"] = {"multiplexing": {"value": "forbidden", "source": profile["sources"][0]["id"]}}
        (folder / "own").mkdir()
        (folder / "own" / "narval.yml").write_text(yaml.safe_dump(profile), encoding="utf-8")
        text = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        self.file.write_text(yaml.safe_dump({**text, "profiles": [str(folder / "own")]}), encoding="utf-8")


def test_where_sharing_is_forbidden_the_one_connection_of_a_run_asks_and_no_session_stays(
    bed: Any, tmp_path: Path
) -> None:
    door = CodeLogin(bed.cluster("narval"), MaxSessions="1")
    accounts = [bed.new_account("narval"), bed.new_account("narval")]
    door.admit(accounts)
    desk = Forbidden(bed, tmp_path, *accounts)
    for verb, exit_code in (("onboard", 4), ("audit", 2), ("preflight", 2), ("connect", 2)):
        ran = desk.types(verb)
        said = " ".join((ran.stdout + ran.stderr).split())
        assert ran.returncode == exit_code, said
        assert "the site forbids shared sessions, so hpc-onboard did not connect. Run the same command again" in said
    assert door.connections == 0

    sessions = bed.client.home / ".local/state/hpc.onboard/ssh"
    sessions.mkdir(parents=True, exist_ok=True)
    before = {*sessions.iterdir(), sessions / "asking", sessions / "askpass"}
    run = desk.at_terminal("onboard", "--tags", "container_caches")
    for _account in accounts:
        run.expect("(u[0-9]+@narval): .*One-time password")
        run.sendline(code())
    exit_code, said = ended(run)
    assert exit_code == 0, said
    assert (door.connections, door.accepted, door.refused) == (2, 2, 0)
    assert set(sessions.iterdir()) <= before
    assert door.said.count("Disconnected from user") == 2, "no master holds a connection"

    run = desk.at_terminal("onboard", "-l", accounts[0].name)
    run.expect("One-time password")
    run.sendline("000000")
    exit_code, said = ended(run)
    assert exit_code == 4, said
    assert "your password or code was not accepted" in said, said
    assert "Permission denied" in said, said
    assert "auth: ask" not in said, said
    assert (door.connections, door.refused) == (3, 1), "one attempt: a site counts"


@pytest.fixture
def shell(bed: Any) -> Iterator[tuple[Any, Path, FurtherSshd]]:
    """A person's shell whose connection is a master, on a login node that takes one session for each connection."""
    account, door = (
        bed.new_account("narval"),
        FurtherSshd(bed.cluster("narval"), "single", SINGLE, {"MaxSessions": "1"}),
    )
    with tempfile.TemporaryDirectory(prefix="s") as folder:  # a socket's path is short
        config = Path(folder) / "ssh_config"
        usual = Path(bed.ssh_config).read_text(encoding="ascii")
        own = f"Host *\n    Port {SINGLE}\n    ControlPath {folder}/%C\n"
        config.write_text(own + usual, encoding="ascii")
        command = ["ssh", "-F", str(config), "-M", "-l", account.user, account.host, "echo in; sleep 60"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"in\n"
            yield account, config, door
            process.kill()


@turns(2)
@pytest.mark.parametrize(
    ("door", "exit_code", "connections"), [("key", 0, 2), ("ask", 4, 1)], ids=["a key does", "a code is asked for"]
)
def test_a_master_that_takes_no_second_session_is_done_without_or_told(
    bed: Any, shell: tuple[Any, Path, FurtherSshd], door: str, exit_code: int, connections: int
) -> None:
    account, config, sshd = shell
    entry = {"auth": door, "vars": {"ansible_port": SINGLE, "ansible_ssh_common_args": f"-F {config}"}}
    ran = Desk(bed, account, settings={account.name: entry}).types("onboard")
    said = " ".join((ran.stdout + ran.stderr).split())
    assert ran.returncode == exit_code, said
    assert ("refused a second session in the open connection (MaxSessions)" in said) == bool(exit_code), said
    assert sshd.connections == connections
