# SPDX-License-Identifier: GPL-3.0-or-later
"""hpc-onboard over real ssh, from a folder that is no checkout: what it does, how it ends, what it tells to run."""

from __future__ import annotations

import shlex
import signal
import time
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import turns
from tests.integration.command.desk import Desk
from tests.integration.runs import PASSPHRASE, FileRing

pytestmark = pytest.mark.testbed

AWAY = {"vars": {"ansible_port": 1, "ansible_host": "127.0.0.1"}}


def test_it_onboards_audits_and_tells_a_command_that_fixes(bed: Any) -> None:
    account, other = bed.new_account("lrz"), bed.new_account("wilson")
    desk = Desk(bed, account, other)
    first = desk.types("lrz")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "Accounts from" not in first.stderr, "nobody is at a terminal"
    assert f"{account.name}  " in first.stdout
    assert "PLAY RECAP" not in first.stdout
    assert account.exists("enroot/.credentials")
    assert other.name not in first.stdout
    assert desk.types("onboard", account.name).stdout.startswith(f"✓ {account.name}  ")
    account.ssh("rm ~/dss")
    drifted = desk.types("audit", "lrz")
    assert drifted.returncode == 2, drifted.stdout
    told = drifted.stdout.replace("\\\n", "").split("Next:\n")[1].splitlines()[0]
    program, *words = shlex.split(told)
    assert (program, words[0]) == ("hpc-onboard", "onboard")
    assert desk.types(*words).returncode == 0
    assert desk.types("audit", "lrz").returncode == 0


def test_four_means_unreachable_and_nothing_else(bed: Any) -> None:
    here, away = bed.new_account("wilson"), bed.new_account("wilson")
    desk = Desk(bed, here, away, settings={away.name: AWAY})
    unreachable = desk.types("onboard")
    assert unreachable.returncode == 4, unreachable.stdout + unreachable.stderr
    assert "Fix the problems above, then run:\n  hpc-onboard onboard -l" in unreachable.stdout
    assert desk.types("audit").returncode == 2, "what was not measured is no success"
    here.ssh("rm -rf ~/.apptainer; touch ~/.apptainer")
    assert desk.types("onboard").returncode == 2, "something failed as well"


MISTAKES = [
    ("plugin: hpc.onboard.accounts\naccounts: {ada@wilsn: {project: a}}\n", [], 'did you mean "wilson"?'),
    ("plugin: hpc.onboard.accounts\naccounts: {}\n", [], "add an entry"),
    ("plugin: hpc.onboard.accounts\naccounts: {ada@dfki: }\n", ["-l", "dfky"], 'did you mean "dfki"?'),
    ("plugin: hpc.onboard.accounts\naccounts: {ada@dfki: }\n", ["dfki", "-e", "@broken.yml"], "broken.yml"),
    (
        "all: {hosts: {localhost: }}\n",
        ["-i", "other.yml"],
        "no accounts file was read: other.yml has no line 'plugin: hpc.onboard.accounts'. Add this line, or name",
    ),
    ("plugin: hpc.onboard.accounts\naccounts: {ada@dfki: }\n", ["--forks=many"], "--forks"),
]


@turns(2)
@pytest.mark.parametrize(("text", "words", "said"), MISTAKES)
def test_what_cannot_be_run_is_two_with_what_is_wrong(
    bed: Any, tmp_path: Path, text: str, words: list[str], said: str
) -> None:
    for name in ("accounts.yml", "other.yml"):
        (tmp_path / name).write_text(text)
    (tmp_path / "broken.yml").write_text("a: [")
    done = bed.ansible("onboard", *words, program="hpc-onboard", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in " ".join(done.stderr.split())


def test_in_a_folder_that_all_can_write_to_and_under_settings_of_others_the_console_shows(bed: Any) -> None:
    """Ansible itself uses no settings of such a folder. The accounts there are used if the user names the file."""
    account = bed.new_account("wilson")
    desk = Desk(bed, account)
    (desk.folder / "ansible.cfg").write_text("[defaults]\nstdout_callback = minimal\ninventory = /nowhere\n")
    for mode in (0o755, 0o777):
        desk.folder.chmod(mode)
        done = desk.types("plan", "-i", "accounts.yml", ANSIBLE_STDOUT_CALLBACK="json", ANSIBLE_INVENTORY="/nowhere")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith(f"~ {account.name}  "), done.stdout
        assert "to create, 0 to change, 0 to remove" in done.stdout
    assert not account.exists(".apptainer")


def test_a_person_at_a_terminal_is_told_which_accounts_and_asked_for_the_passphrase(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("wilson")
    desk = Desk(bed, account)
    run = desk.at_terminal("wilson", **FileRing(tmp_path).env)
    run.expect_exact("Accounts from accounts.yml\r\n")
    run.expect("Passphrase of .*: ")
    run.sendline(PASSPHRASE)
    run.expect(pexpect.EOF)
    run.close()
    assert run.exitstatus == 0, run.before
    assert account.exists(".apptainer/docker-config.json")
    bed.client.disconnect()


def test_ctrl_c_ends_the_run_as_ansible_ends_it_and_the_shell_learns_of_it(bed: Any) -> None:
    account = bed.new_account("wilson", files={".bashrc": b"sleep 20\n"})
    run = Desk(bed, account).at_terminal("wilson")
    run.expect_exact("Accounts from accounts.yml")
    time.sleep(4)  # the connection stands and waits
    run.sendintr()
    run.expect("interrupted")
    run.expect(pexpect.EOF)
    run.close()
    assert run.signalstatus == signal.SIGINT
    bed.client.disconnect()
