# SPDX-License-Identifier: GPL-3.0-or-later
"""A site that asks for a code at every connection: the person is asked once, no program ever tries the door."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.integration.command.test_command import Desk
from tests.integration.runs import COMMAND
from tests.testbed.code_login import PORT, CodeLogin, code

pytestmark = pytest.mark.testbed

PASSWORD = "correct horse"
ASKS = "-o PreferredAuthentications=publickey,keyboard-interactive"
ENTRY = {"auth": "ask", "vars": {"ansible_port": PORT, "ansible_ssh_extra_args": ASKS}}


def desk_before(bed: Any, door: CodeLogin, *accounts: Any) -> Desk:
    """Somebody whose accounts lie behind the door."""
    door.admit(accounts)
    return Desk(bed, *accounts, settings={account.name: ENTRY for account in accounts})


def ended(run: pexpect.spawn[str]) -> tuple[int, str]:
    """The exit code of a command, and what it said since the last look."""
    run.expect(pexpect.EOF)
    run.close()
    return int(run.exitstatus or 0), " ".join(str(run.before).split())


def test_a_code_is_asked_for_once_and_no_program_ever_tries_the_door(bed: Any) -> None:
    door = CodeLogin(bed.cluster("narval"))
    account = bed.new_account("narval")
    desk = desk_before(bed, door, account)

    for verb, exit_code in (("onboard", 4), ("audit", 2)):
        ran = desk.types(verb)
        said = " ".join((ran.stdout + ran.stderr).split())
        assert ran.returncode == exit_code, said
        assert "the login asks for a password or code, and no SSH session is open" in said
        assert f"connect -l {account.name}" in said
    told = " ".join(desk.types("doctor").stdout.split())
    assert f"no session is open; a run at a terminal asks you to log in. hpc-onboard connect -l {account.name}" in told
    assert door.connections == 0

    wrong = desk.at_terminal("onboard")
    wrong.expect("One-time password")
    wrong.sendline("000000")
    exit_code, said = ended(wrong)
    assert exit_code == 4, said
    assert "your password or code was not accepted" in said
    assert "Permission denied" in said
    assert "does not accept an SSH key alone" not in said
    assert (door.connections, door.refused) == (1, 1), "one attempt: a site counts"

    door.admit([account])
    run = desk.at_terminal("onboard")
    run.expect(f"{account.name}: .*One-time password")
    run.sendline(code())
    exit_code, said = ended(run)
    assert exit_code == 0, said
    assert account.exists(".config/hpc.onboard/env.sh") or account.exists(".config/hpc.onboard")

    again = desk.at_terminal("narval")
    exit_code, said = ended(again)
    assert exit_code == 0, said
    assert "password" not in said
    assert desk.types("audit").returncode == 0
    assert "a session is open" in desk.types("connect").stdout
    assert (door.connections, door.refused) == (2, 1)


def test_password_and_code_of_two_accounts_are_asked_for_in_turn_before_any_work(bed: Any) -> None:
    door = CodeLogin(bed.cluster("lrz"), PASSWORD)
    accounts = [bed.new_account("lrz"), bed.new_account("lrz")]
    other = bed.new_account("wilson")
    door.admit(accounts)
    desk = Desk(bed, *accounts, other, settings={account.name: ENTRY for account in accounts})
    run = desk.at_terminal("plan")
    for account in accounts:
        run.expect(f"{account.name}: .*Password:")
        assert other.sessions() == 0
        run.sendline(PASSWORD)
        run.expect(f"{account.name}: .*One-time password")
        run.sendline(code())
    run.expect(r"Apply these changes\? \[y/N\] ")
    assert PASSWORD not in run.before
    run.sendline("n")
    exit_code, said = ended(run)
    assert exit_code == 0, said
    assert (door.connections, door.refused) == (2, 0)


def test_the_code_of_a_jump_host_is_asked_for_too_and_again_after_a_mistake(bed: Any, tmp_path: Path) -> None:
    door, account = CodeLogin(bed.cluster("ela")), bed.new_account("daint")
    door.admit([account])
    config = tmp_path / "ssh_config"
    own = f"Host ela\n    Port {PORT}\n    PreferredAuthentications publickey,keyboard-interactive\n"
    config.write_text(own + Path(bed.ssh_config).read_text(encoding="ascii"), encoding="ascii")
    entry = {"auth": "ask", "vars": {"ansible_ssh_common_args": f"-F {config}"}}
    desk = Desk(bed, account, settings={account.name: entry})
    run = desk.at_terminal("onboard", "--tags", "container_caches")
    for typed in ("000000", code()):
        run.expect(f"{account.name}: .*One-time password")
        run.sendline(typed)
    exit_code, said = ended(run)
    assert exit_code == 0, said
    assert desk.types("audit", "--tags", "container_caches").returncode == 0
    assert (door.connections, door.refused) == (1, 1), "one refusal for one mistake"


def test_a_terminal_that_is_closed_while_a_question_stands_ends_all_of_the_run(bed: Any) -> None:
    door, account = CodeLogin(bed.cluster("narval")), bed.new_account("narval")
    run = desk_before(bed, door, account).at_terminal("connect", MARK=account.user)
    run.expect("One-time password")
    assert running(f"MARK={account.user}")
    with suppress(pexpect.ExceptionPexpect):  # it has not ended at once
        run.close(force=False)
    deadline = time.monotonic() + 30
    while running(f"MARK={account.user}") and time.monotonic() < deadline:
        time.sleep(0.2)
    assert running(f"MARK={account.user}") == []
    assert door.refused == 0


def test_a_question_is_seen_where_the_output_goes_to_a_file(bed: Any, tmp_path: Path) -> None:
    door, account = CodeLogin(bed.cluster("narval")), bed.new_account("narval")
    desk = desk_before(bed, door, account)
    environment = {**bed.client.environment(), **desk.environment, "TERM": "dumb"}
    order = f"exec {COMMAND} connect > {tmp_path}/log"
    run = pexpect.spawn("sh", ["-c", order], cwd=str(desk.folder), env=environment, encoding="utf-8", timeout=30)
    run.expect(f"{account.name}: .*One-time password")
    run.sendline(code())
    assert ended(run)[0] == 0
    assert "opened a session" in (tmp_path / "log").read_text()


def running(mark: str) -> list[str]:
    """Return the command line of each process with this in its environment that has not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
