# SPDX-License-Identifier: GPL-3.0-or-later
"""A session that a person has opened by hand is the way in, where a new one would need a second factor."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import Ran, play

pytestmark = pytest.mark.testbed

SITE = "    KbdInteractiveAuthentication yes\n    PubkeyAuthentication no\n"


class Person:
    """Somebody whose ssh leads to an account by a name of their own, and cannot log in without being asked."""

    def __init__(self, bed: Any, account: Any, folder: Path, alias: str) -> None:
        self.bed, self.account, self.alias = bed, account, alias
        base = Path(bed.ssh_config).read_text(encoding="ascii")
        block = f"Host {alias}\n    Hostname {account.host}\n    HostKeyAlias narval\n    ControlPath {folder}/%C\n"
        self.asked, self.open = folder / "asked", folder / "open"
        self.open.write_text(block + base, encoding="ascii")
        self.asked.write_text(block + f"Host *\n{SITE}    BatchMode yes\n" + base, encoding="ascii")

    def ssh(self, *words: str) -> int:
        """The person's own ssh, as they type it once the second factor is given."""
        command = ["ssh", "-F", str(self.open), "-l", self.account.user, *words, self.alias]
        return subprocess.run(command, check=False, capture_output=True, timeout=30).returncode

    def run(self, playbook: str, host: dict[str, str]) -> Ran:
        """A run in which a new session would be refused."""
        own = {"auth": "ask", "vars": {"ansible_ssh_common_args": f"-F {self.asked}", **host}}
        file = str(self.bed.accounts_file([self.account], settings={self.account.name: own}))
        return play(self.bed, "-i", file, playbook=playbook)


@pytest.fixture
def person(bed: Any, request: pytest.FixtureRequest) -> Iterator[Person]:
    with tempfile.TemporaryDirectory(prefix="s") as folder:  # a socket's path is short
        one = Person(bed, bed.new_account("narval"), Path(folder), request.param)
        yield one
        one.ssh("-O", "exit")


@pytest.mark.parametrize(("person", "host"), [("narval", {}), ("mine", {"ansible_host": "mine"})], indirect=["person"])
def test_the_session_is_used_and_no_other_is_opened(person: Person, host: dict[str, str]) -> None:
    refused = person.run("onboard.yml", host)
    assert refused.code == 4, refused.text
    assert person.ssh("-MNf") == 0
    for playbook in ("onboard.yml", "onboard.yml", "audit.yml"):
        ran = person.run(playbook, host)
        assert ran.code == 0, ran.text
    assert person.ssh("-O", "exit") == 0
    again = person.run("onboard.yml", host)
    assert again.code == 4, again.text
