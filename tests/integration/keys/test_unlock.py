# SPDX-License-Identifier: GPL-3.0-or-later
"""How often a user is asked for the passphrase of the encrypted file: in a first session, and once it is unlocked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import turns
from tests.integration.command.person import Person
from tests.integration.runs import BACKEND, KEY, PASSPHRASE, FileRing

pytestmark = [pytest.mark.testbed, turns(2)]

BIN = Path(sys.executable).parent
ANSWERS = {  # question -> what the user types; passphrases are counted
    r"New passphrase for [^\n]*: ": PASSPHRASE,
    r"Repeat the passphrase: ": PASSPHRASE,
    r"Passphrase of [^\n]*: ": PASSPHRASE,
    r"Your NGC key: ": KEY,
    r"New key of 'ngc'[^\n]*: ": "",
    r"Store\s+the\s+key\s+now[^>]*> ": "y",
    r"Check the login[^>]*> ": "n",
    r"Write this to[^>]*> ": "",
    r"\[y/N\] ": "y",
    r"> $": "",
}
PASSPHRASES = 3  # the first of them


def count_prompts(run: pexpect.spawn[str]) -> tuple[int, str]:
    """Answer all questions of a command until its end; return how many were for a passphrase, and what was shown."""
    count, shown = 0, ""
    questions = [*ANSWERS, pexpect.EOF]
    while (found := run.expect(questions, timeout=120)) < len(ANSWERS):
        count += found < PASSPHRASES
        shown += str(run.before) + str(run.after)
        run.sendline(list(ANSWERS.values())[found])
    run.close()
    return count, shown + str(run.before)


@pytest.fixture
def person(bed: Any, tmp_path: Path) -> Iterator[Person]:
    """A new user with an account at DFKI, whose keyring is the encrypted file."""
    person = Person(bed, tmp_path)
    account = bed.new_account("dfki")
    person.knows("serv-6404.kl.dfki.de", "dfki", f"User {account.user}")
    file = person.folder / "ring" / "keyring"
    person.environment |= {"PYTHON_KEYRING_BACKEND": BACKEND, "KEYRING_PROPERTY_FILE": str(file)}
    yield person
    person.types("keyring", "lock")
    bed.client.disconnect()


SESSION = (["plan"], ["audit"], ["audit"], ["fix", "--yes"], ["onboard"], ["rotate", "--check"])


@pytest.mark.parametrize("is_unlocked", [False, True])
def test_a_first_session_asks_once_a_command_and_once_unlocked_not_at_all(person: Person, is_unlocked: bool) -> None:
    counted = {"init": count_prompts(person.at_terminal("init", "--account", "dfki", "--auth", "key"))}
    if is_unlocked:
        counted["unlock"] = count_prompts(person.at_terminal("keyring", "unlock"))
    for number, words in enumerate(SESSION):
        counted[f"{number} {words[0]}"] = count_prompts(person.at_terminal(*words))
    numbers = {name: one[0] for name, one in counted.items()}
    each = dict.fromkeys([f"{number} {words[0]}" for number, words in enumerate(SESSION)], 0 if is_unlocked else 1)
    assert numbers == {"init": 2, **({"unlock": 1} if is_unlocked else {}), **each}, counted
    for name, (_number, shown) in counted.items():
        assert PASSPHRASE not in shown
        assert shown.count("unlock the file for 8 hours") == (name not in ("init", "unlock") and not is_unlocked), name


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[..., tuple[int, str]]]:
    """Commands at a terminal of a user with an encrypted file: how many prompts, and what was shown."""
    ring = FileRing(tmp_path)
    env = {**ring.env, "HOME": str(tmp_path), "PATH": f"{BIN}:/usr/bin:/bin", "TERM": "dumb"}

    def run(*words: str) -> tuple[int, str]:
        program, *rest = words
        return count_prompts(pexpect.spawn(str(BIN / program), rest, env=env, encoding="utf-8", dimensions=(24, 200)))

    yield run
    run("hpc-onboard", "keyring", "lock")


GET = ("keyring", "get", "hpc.onboard", "ngc")
UNLOCK = ("hpc-onboard", "keyring", "unlock")
STATE = ("hpc-onboard", "keyring")


def test_it_is_unlocked_for_a_time_and_until_it_is_locked(desk: Callable[..., tuple[int, str]]) -> None:
    assert "is locked. Each command asks" in desk(*STATE)[1]
    count, shown = desk(*UNLOCK, "--for", "90m")
    assert (count, "is unlocked until" in shown, "(1 h 30 min left)" in shown) == (1, True, True), shown
    assert "is unlocked until" in desk(*STATE)[1]
    assert desk(*GET) == (0, f"{KEY}\r\n")
    assert desk(*UNLOCK)[0] == 1, "only a passphrase makes it longer"
    assert "is now locked." in desk("hpc-onboard", "keyring", "lock")[1]
    assert desk(*GET)[0] == 1
    assert "expected a duration up to 7d" in desk(*UNLOCK, "--for", "8 weeks")[1]


def test_commands_at_once_ask_once_each_at_most(desk: Callable[..., tuple[int, str]]) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert [one.result()[0] for one in [pool.submit(desk, *GET) for _ in range(4)]] == [1] * 4
        assert [one.result()[0] for one in [pool.submit(desk, *UNLOCK) for _ in range(4)]] == [1] * 4
        assert [one.result()[0] for one in [pool.submit(desk, *GET) for _ in range(4)]] == [0] * 4


@pytest.mark.parametrize("what", ["another passphrase", "another file"])
def test_a_key_that_does_not_open_the_file_any_more_is_removed_and_said(
    desk: Callable[..., tuple[int, str]], tmp_path: Path, what: str
) -> None:
    desk(*UNLOCK)
    if what == "another passphrase":
        count, shown = desk("hpc-onboard", "rekey")
        assert (count, "The file is locked again." in shown) == (3, True), (
            "the old one is asked for, whatever is unlocked"
        )
        assert "its passphrase has changed since" not in desk(*GET)[1]
        return
    (tmp_path / "other").mkdir()
    FileRing(tmp_path / "other").file.replace(tmp_path / "ring" / "keyring")
    count, shown = desk(*GET)
    assert (
        count,
        "the file or its passphrase has changed since `hpc-onboard keyring unlock`, so the file is locked again."
        in shown,
    ) == (
        1,
        True,
    ), shown
    count, shown = desk(*GET)
    assert (count, "its passphrase has changed since" in shown) == (1, False), shown
