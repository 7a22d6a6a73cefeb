# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways into a rotation and out of it: prompt, pipe, giving up, a grace, an old key that goes at once or first."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.testbed.registry import PRIVATE, new_key

from .rotation_scene import Stage, settled
from .runs import REPOSITORY, Ran, play

pytestmark = pytest.mark.testbed
COLUMNS = 80
QUESTION = "New key of 'ngc' .it is not shown.: "


@pytest.fixture
def few(stage: Stage) -> Stage:
    """Three of the accounts, of three clusters."""
    return stage._replace(accounts=[stage.accounts[0], stage.accounts[2], stage.accounts[3]])


def allowed(stage: Stage) -> str:
    """A new key that the registry knows."""
    key = new_key()
    stage.registry.allow(key, [PRIVATE])
    return key


def held(stage: Stage) -> list[set[str]]:
    """The keys that each account holds."""
    return [set(stage.held(account)) for account in stage.accounts]


def words(text: str) -> str:
    """The text in one line."""
    return " ".join(text.split())


def at_terminal(stage: Stage, *more: str, **wishes: Any) -> pexpect.spawn[str]:
    """A run at a terminal, as a person starts it."""
    order = ["rotate_ngc.yml", *stage.wanted(None, "", wishes), *more]
    env = {**stage.bed.client.environment(), **stage.environment}
    program = Path(stage.bed.client.environment()["PATH"].split(":")[0]) / "ansible-playbook"
    return pexpect.spawn(
        str(program),
        order,
        cwd=str(REPOSITORY),
        env=env,
        encoding="utf-8",
        timeout=120,
        dimensions=(40, COLUMNS),
    )


def finished(run: pexpect.spawn[str]) -> tuple[int, str]:
    """Exit code, and what was printed since the last look."""
    run.expect(pexpect.EOF, timeout=120)
    run.close()
    return int(run.exitstatus or 0), str(run.before)


def piped(stage: Stage, key: bytes, **wishes: Any) -> subprocess.CompletedProcess[bytes]:
    """A run with the key on its standard input."""
    order = ["ansible-playbook", "rotate_ngc.yml", *stage.wanted(None, "", wishes), "-e", "rotate_key_file=-"]
    env = {**stage.bed.client.environment(), **stage.environment}
    return subprocess.run(order, cwd=REPOSITORY, env=env, input=key, capture_output=True, check=False, timeout=120)


def away(account: Any, gone: bool) -> None:
    """Have the account answer nobody, or everybody again."""
    shell = "/bin/false" if gone else "/bin/bash"
    account.cluster.world.run("sh", "-c", f"usermod -s {shell} {account.user}; true")


# -- where the new key comes from -------------------------------------------------------------


def test_a_key_that_is_typed_is_nowhere_on_the_terminal(few: Stage) -> None:
    new = allowed(few)
    run = at_terminal(few)
    run.expect(QUESTION)
    asked = str(run.before) + str(run.after)
    run.sendline(new)
    code, said = finished(run)
    print(said)
    assert code == 0, said
    assert settled(few, new)
    assert not any(part in asked + said for part in (new, new[:20], new[-20:]))


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "the key is empty"),
        ("nvapi-short", "too short"),
        ("$(touch /tmp/pwned)", "white space"),
        ("\x03", "no new key of 'ngc' was given"),
    ],
)
def test_what_is_no_key_at_the_prompt_is_one_error_and_touches_nothing(few: Stage, typed: str, why: str) -> None:
    before = [account.tree() for account in few.accounts]
    for account in few.accounts:
        account.reset_sessions()
    run = at_terminal(few)
    run.expect(QUESTION)
    run.send("\x03") if typed == "\x03" else run.sendline(typed)
    code, said = finished(run)
    assert code == 2, said
    assert words(said).count("nothing was changed") == 1, said
    assert why in words(said)
    assert [account.tree() for account in few.accounts] == before
    assert [account.sessions() for account in few.accounts] == [0, 0, 0]
    assert not (few.folder / "state" / "hpc.onboard" / "ledger.jsonl").exists()


def test_a_key_comes_by_standard_input(few: Stage) -> None:
    new = allowed(few)
    done = piped(few, new.encode() + b"\n")
    assert done.returncode == 0, done.stdout.decode()
    assert settled(few, new)
    assert new.encode() not in done.stdout + done.stderr


def test_nothing_on_standard_input_is_one_clear_error(few: Stage) -> None:
    done = piped(few, b"")
    assert done.returncode == 2
    assert "nothing came on standard input" in words(done.stdout.decode())
    assert held(few) == [{few.old}] * 3


# -- words that are wrong ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"rotate_resum": True}, 'rotate_resum is no setting of a rotation: did you mean "rotate_resume"?'),
        ({"rotate_resume": "perhaps"}, "is neither true nor false"),
        ({"rotate_mode": "compromized"}, 'did you mean "compromised"?'),
        ({"rotate_grace": "7 moons"}, "12h, 7d or 2w"),
        ({"rotate_canary": "nobody@lrz:enroot_credential"}, "is no target"),
        ({"rotate_give_up": True}, "no rotation of 'ngc' is open"),
    ],
)
def test_a_word_that_is_wrong_is_named_before_anything_is_done(few: Stage, wish: dict[str, Any], said: str) -> None:
    ran = few.rotate(key=allowed(few), **wish)
    assert ran.code == 2, ran.text
    assert said in words(ran.text)
    assert held(few) == [{few.old}] * 3
    assert not (few.folder / "state" / "hpc.onboard" / "ledger.jsonl").exists()


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ((), "these accounts hold ngc: ansible-playbook rotate_ngc.yml"),
        (("-e", "secret=ncg"), "no account holds the key 'ncg': did you mean \"ngc\"?"),
    ],
)
def test_without_a_secret_those_that_there_are_are_named(few: Stage, secret: tuple[str, ...], said: str) -> None:
    order = ["-i", str(few.bed.accounts_file(few.accounts)), *secret]
    ran = play(few.bed, *order, playbook="rotate.yml", environment=few.environment)
    assert ran.code == 2
    assert said in words(ran.text), ran.text
    assert "rotation" in ran.text


# -- giving up ---------------------------------------------------------------------------------


def half_done(stage: Stage, new: str) -> Any:
    """A rotation that is open since one account is away."""
    last = stage.accounts[2]
    away(last, True)
    assert stage.rotate(key=new).code == 2
    away(last, False)
    assert held(stage) == [{new}, {new}, {stage.old}]
    return last


def test_what_is_given_up_is_as_it_was_and_the_new_key_goes(few: Stage) -> None:
    before = [_files(account) for account in few.accounts]
    new = allowed(few)
    half_done(few, new)
    ran = few.rotate(rotate_give_up=True)
    print(ran.text)
    assert ran.code == 0, ran.text
    assert [_files(account) for account in few.accounts] == before
    assert "deactivate the new one" in words(ran.text)
    again = few.rotate(rotate_give_up=True)
    assert again.code == 0
    assert "deactivate the new one" in words(again.text)
    few.registry.revoke(new)
    ended = few.rotate(rotate_retired=True)
    print(ended.text)
    assert ended.code == 0
    assert "given up; nothing is left to do" in words(ended.text)
    assert few.keyring("ngc") == few.old
    assert new.encode() not in few.ring.file.read_bytes()
    assert few.ledger_fits(few.folder / "state")
    other = allowed(few)
    assert few.rotate(key=other).code == 0
    assert settled(few, other)


def _files(account: Any) -> dict[str, Any]:
    """What is in the files of an account."""
    return {path: (entry.content, entry.mode) for path, entry in account.tree().items()}


def test_giving_up_stays_open_while_an_account_is_away(few: Stage) -> None:
    new = allowed(few)
    half_done(few, new)
    away(few.accounts[0], True)
    ran = few.rotate(rotate_give_up=True)
    print(ran.text)
    assert ran.code == 2, ran.text
    assert held(few) == [{new}, {few.old}, {few.old}]
    assert f"{few.accounts[0].name}:enroot_credential" in words(ran.text)
    assert few.rotate(key=allowed(few)).code == 2
    away(few.accounts[0], False)
    ended = few.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert held(few) == [{few.old}] * 3


def test_giving_up_is_refused_where_the_old_key_is_dead_or_the_new_one_current(few: Stage) -> None:
    new = allowed(few)
    half_done(few, new)
    few.registry.revoke(few.old)
    ran = few.rotate(rotate_give_up=True)
    assert ran.code == 2
    assert "not given up, since the old key is dead" in words(ran.text)
    assert few.rotate(rotate_resume=True).code == 0
    assert settled(few, new)
    late = few.rotate(rotate_give_up=True)
    assert late.code == 2
    assert "is current already" in words(late.text)
    assert settled(few, new)


# -- a grace -----------------------------------------------------------------------------------


def test_in_a_grace_the_old_key_stays_until_a_person_says_that_it_is_dead(few: Stage) -> None:
    new = allowed(few)
    ran = few.rotate(key=new, rotate_grace="7d")
    print(ran.text)
    assert ran.code == 0, ran.text
    assert settled(few, new)
    said = words(ran.text)
    assert "stays alive until 20" in said
    later = few.rotate(rotate_resume=True)
    assert later.code == 0
    assert said.split("alive until ")[1][:20] == words(later.text).split("alive until ")[1][:20]
    assert few.keyring("ngc") == few.old
    few.registry.revoke(few.old)
    ended: Ran = few.rotate(rotate_retired=True)
    assert ended.code == 0, ended.text
    assert "nothing is left to do" in words(ended.text)
    assert few.keyring("ngc") == ""
