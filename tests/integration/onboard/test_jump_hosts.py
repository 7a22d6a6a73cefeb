# SPDX-License-Identifier: GPL-3.0-or-later
"""A jump host that asks, refuses or is not known: no attempt that no user typed, and its name in what is said."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.command.test_command import Desk
from tests.integration.onboard.test_code_login import ended
from tests.testbed.client import new_key
from tests.testbed.code_login import PORT, CodeLogin, code
from tests.testbed.further_sshd import FurtherSshd

pytestmark = pytest.mark.testbed

PLAIN = 2230
ASKS = "asks for input that only you can provide"
VERBS = (("onboard", 4), ("preflight", 2), ("audit", 2), ("connect", 2))


def behind(bed: Any, folder: Path, account: Any, own: str) -> Desk:
    """Return somebody whose key opens the login node; own: what their settings say of the jump host before it."""
    config = folder / "ssh_config"
    config.write_text(f"Host ela\n{own}\n" + Path(bed.ssh_config).read_text(encoding="ascii"), encoding="ascii")
    return Desk(bed, account, settings={account.name: {"vars": {"ansible_ssh_common_args": f"-F {config}"}}})


def hears(desk: Desk, *sentences: str) -> None:
    """Run each command without a terminal: it fails, and says all this."""
    for verb, exit_code in VERBS:
        ran = desk.types(verb)
        said = " ".join((ran.stdout + ran.stderr).split())
        assert ran.returncode == exit_code, said
        for sentence in sentences:
            assert sentence in said, (verb, said)
        assert "the jump host " in said, (verb, said)


def test_a_jump_host_that_asks_is_tried_by_no_program_and_a_session_leads_through_it(bed: Any, tmp_path: Path) -> None:
    jump, account = CodeLogin(bed.cluster("ela")), bed.new_account("daint")
    jump.admit([account])
    desk = behind(bed, tmp_path, account, f"  Port {PORT}\n  PreferredAuthentications publickey,keyboard-interactive")
    hears(desk, ASKS, f"connect -l {account.name}")
    assert (jump.connections, jump.refused, account.logins()) == (len(VERBS), 0, 0), "one connection each"

    run = desk.at_terminal("connect")
    run.expect("ela.*One-time password")
    run.sendline(code())
    exit_code, said = ended(run)
    assert exit_code == 0, said
    assert desk.types("onboard").returncode == 0
    assert (jump.connections, jump.refused) == (len(VERBS) + 2, 0), "a look, and the session"


PASSWORDS = {"PasswordAuthentication": "yes", "AuthenticationMethods": "any"}
METHODS = "  PreferredAuthentications publickey,keyboard-interactive,password"
JUMPS: list[tuple[str, Callable[[Path], str], dict[str, str], str]] = [
    ("it asks for a password", lambda folder: METHODS, PASSWORDS, ASKS),
    ("it refuses the key", lambda folder: "", {}, "does not accept the SSH keys of this machine"),
]


@pytest.mark.parametrize(("claim", "own", "settings", "sentence"), JUMPS, ids=[one[0] for one in JUMPS])
def test_a_jump_host_that_lets_nobody_in_is_tried_once_a_run(
    bed: Any, tmp_path: Path, claim: str, own: Callable[[Path], str], settings: dict[str, str], sentence: str
) -> None:
    jump = FurtherSshd(bed.cluster("ela"), "plain", PLAIN, {**settings, "AuthorizedKeysFile": "none"})
    desk = behind(bed, tmp_path, bed.new_account("daint"), f"  Port {PLAIN}\n{own(tmp_path)}")
    hears(desk, sentence)
    assert (jump.connections, jump.refused, jump.accepted) == (len(VERBS), len(VERBS), 0), claim + jump.said
    assert jump.said.count("Failed publickey") == len(VERBS), "the key alone was tried"


def test_an_ssh_in_a_proxy_command_asks_nothing_either(bed: Any, tmp_path: Path) -> None:
    jump, account = CodeLogin(bed.cluster("ela")), bed.new_account("daint")
    jump.admit([account])
    behind(bed, tmp_path, account, f"  Port {PORT}\n  PreferredAuthentications publickey,keyboard-interactive")
    command = f"ProxyCommand=ssh -F {tmp_path}/ssh_config -W [%h]:%p {account.user}@ela"
    way = {"ansible_ssh_extra_args": shlex.join(["-o", command])}
    desk = Desk(bed, account, settings={account.name: {"vars": way}})
    hears(desk, ASKS)
    assert (jump.connections, jump.refused) == (len(VERBS), 0)


def test_an_unknown_or_changed_key_of_a_jump_host_is_called_its_own(bed: Any, tmp_path: Path) -> None:
    account, known = bed.new_account("daint"), tmp_path / "known_hosts"
    desk = behind(bed, tmp_path, account, f"  UserKnownHostsFile {known}\n  StrictHostKeyChecking ask")
    hears(desk, "the host key of the jump host ela is not in your known_hosts")
    assert not known.exists()

    other = new_key(tmp_path / "other").with_suffix(".pub").read_text(encoding="ascii")
    known.write_text(f"ela {other}", encoding="ascii")
    hears(desk, "the jump host ela presents the key SHA256:", "ssh-keygen -f", "-R ela")
    assert known.read_text(encoding="ascii") == f"ela {other}"

    known.unlink()
    run = desk.at_terminal("connect")
    run.expect("ela is a jump host")
    run.sendline("yes")
    exit_code, said = ended(run)
    assert exit_code == 0, said
    assert (
        subprocess.run(["ssh-keygen", "-F", "ela", "-f", str(known)], check=False, capture_output=True).returncode == 0
    )
    assert desk.types("onboard").returncode == 0
