# SPDX-License-Identifier: GPL-3.0-or-later
"""How often a user is asked for the passphrase of the encrypted file: in a first session, and once it is unlocked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import turns
from tests.integration.command.person import Person
from tests.integration.runs import BACKEND, COMMAND, KEY, PASSPHRASE, FileRing

pytestmark = [pytest.mark.testbed, turns(2)]

ANSWERS = {  # question -> what the user types; passphrases are counted
    r"New passphrase for [^\n]*: ": PASSPHRASE,
    r"The same again: ": PASSPHRASE,
    r"Passphrase of [^\n]*: ": PASSPHRASE,
    r"Your NGC key: ": KEY,
    r"New key of 'ngc'[^\n]*: ": "",
    r"Store it now[^>]*> ": "y",
    r"Try now whether[^>]*> ": "n",
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
        assert shown.count("to be asked once for 8 hours") == (name not in ("init", "unlock") and not is_unlocked), name
