# SPDX-License-Identifier: GPL-3.0-or-later
"""What was previewed is done when a person says so, and by nobody else's word."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pexpect
import pytest

from tests.integration.command.desk import Desk
from tests.integration.runs import COMMAND

pytestmark = pytest.mark.testbed
MADE = ".apptainer/docker-config.json"
QUESTION = "Apply these changes? [y/N] "


def answered(desk: Desk, answer: Callable[[Any], object], *words: str) -> Any:
    """A plan at a terminal whose question is answered so; its end is waited for."""
    run = desk.at_terminal("plan", *words)
    run.expect_exact(QUESTION)
    answer(run)
    run.expect(pexpect.EOF)
    run.close()
    return run


def test_a_yes_does_what_was_previewed_and_nothing_else(bed: Any) -> None:
    account, other = bed.new_account("wilson"), bed.new_account("wilson")
    desk = Desk(bed, account, other)
    run = answered(desk, lambda run: run.sendline("y"), account.name, "--tags", "registry_auth")
    assert run.exitstatus == 0, run.before
    assert "1 account: 1 changed" in run.before
    assert account.exists(MADE)
    assert not account.exists(".config/hpc.onboard/env.sh"), "of another capability"
    assert not other.exists(MADE)
    bed.client.disconnect()


NOES = {
    "an empty line": lambda run: run.sendline(""),
    "a word": lambda run: run.sendline("yes please"),
}


@pytest.mark.parametrize("name", NOES)
def test_anything_but_a_yes_changes_nothing(bed: Any, name: str) -> None:
    account = bed.new_account("wilson")
    run = answered(Desk(bed, account), NOES[name])
    assert run.exitstatus == 0, run.before
    assert "Cancelled. Nothing was changed." in run.before
    assert not account.exists(MADE)
    bed.client.disconnect()


NO_ANSWERS = {"the end of the input": lambda run: run.sendeof(), "Ctrl-C": lambda run: run.sendintr()}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_without_an_answer_the_command_that_does_not_ask_is_named(bed: Any, name: str) -> None:
    account = bed.new_account("wilson")
    run = answered(Desk(bed, account), NO_ANSWERS[name])
    assert run.exitstatus == 2, run.before
    assert "you did not confirm. To confirm in advance, run: hpc-onboard plan --yes" in " ".join(run.before.split())
    assert not account.exists(MADE)
    bed.client.disconnect()


def test_without_an_answer_about_keys_only_the_keys_are_said_to_be_unchanged(bed: Any) -> None:
    account = bed.new_account("wilson")
    login = base64.b64encode(b"$oauthtoken:nvapi-" + b"t" * 64).decode()
    content = json.dumps({"auths": {"nvcr.io": {"auth": login}}})
    folder, file = MADE.split("/")
    account.login_shell(f"umask 077; mkdir {folder}; printf %s '{content}' >{folder}/{file}")
    run = Desk(bed, account).at_terminal("onboard")
    run.expect_exact("Replace the existing keys")
    run.sendintr()
    run.expect(pexpect.EOF)
    run.close()
    command = f"hpc-onboard onboard -e onboard_replace=true -l {account.name}"
    said = f"no key was replaced: you did not confirm. To confirm in advance, run: {command}"
    assert said in " ".join(run.before.split())
    assert account.read(MADE).decode() == content
    assert account.exists(".config/hpc.onboard/env.sh"), "the rest was set up"
    bed.client.disconnect()


@pytest.mark.parametrize("words", [[], ["--check", "--yes"]])
def test_without_a_terminal_or_with_check_it_only_previews(bed: Any, words: list[str]) -> None:
    account = bed.new_account("wilson")
    done = Desk(bed, account).types("plan", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert QUESTION not in done.stdout + done.stderr
    assert not account.exists(MADE)


def test_who_is_sure_is_asked_nothing(bed: Any) -> None:
    account = bed.new_account("wilson")
    desk = Desk(bed, account)
    done = desk.types("plan", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " to create, 0 to change, 0 to remove" in done.stdout
    assert "1 account: 1 changed" in done.stdout
    assert account.exists(MADE)
    again = desk.types("plan", "--yes")
    assert again.stdout.count("1 account: 0 to create, 0 to change, 0 to remove, ") == 1, "there was nothing to do"
    out = desk.types("offboard", "--yes")
    assert out.returncode == 0, out.stdout + out.stderr
    assert not account.exists(MADE)


def test_who_must_be_asked_and_is_not_there_is_told_the_word(bed: Any) -> None:
    account = bed.new_account("wilson")
    desk = Desk(bed, account)
    assert desk.types("onboard").returncode == 0
    refused = desk.types("offboard", "--only", "everything")
    assert refused.returncode == 2
    assert "hpc-onboard offboard --only everything --yes" in " ".join(refused.stderr.split())
    assert account.exists(MADE)


def test_a_run_that_is_at_a_terminal_only_to_be_read_asks_nobody(bed: Any) -> None:
    account = bed.new_account("wilson")
    desk = Desk(bed, account)
    environment = {**bed.client.environment(), **desk.environment}
    shell = f"{COMMAND} plan | cat"
    run = pexpect.spawn("/bin/sh", ["-c", shell], cwd=str(desk.folder), env=environment, encoding="utf-8", timeout=60)
    run.expect(pexpect.EOF)
    assert QUESTION not in run.before
    assert not account.exists(MADE)
    bed.client.disconnect()
