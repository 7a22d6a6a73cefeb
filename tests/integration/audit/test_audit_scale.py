# SPDX-License-Identifier: GPL-3.0-or-later
"""Many accounts in one audit: one session each, memory within bounds, and one that hangs costs nobody else anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.memory import Memory
from tests.effort import EXHAUSTIVE
from tests.integration.runs import Ran, play

MANY = 60 if EXHAUSTIVE else 25  # more than there are forks
CLUSTERS = ("lrz", "dfki", "wilson")
MOST_MB = 1500  # a Python for each of 20 forks, and what it does not share
STOPPED = b"kill -STOP $PPID\n"  # in a start-up file: the sshd of its own session falls silent
IMPATIENT = "-o ServerAliveInterval=2 -o ServerAliveCountMax=3"


def accounts_of(bed: Any, number: int) -> list[Any]:
    """So many new accounts, spread over the clusters."""
    return [bed.new_account(CLUSTERS[one % len(CLUSTERS)]) for one in range(number)]


def audit(bed: Any, inventory: Path, *more: str) -> tuple[Ran, dict[str, Any]]:
    """A run of audit.yml, and its report."""
    folder = inventory.parent / "report"
    ran = play(bed, "-i", str(inventory), "-e", f"audit_output={folder}", *more, playbook="audit.yml")
    return ran, json.loads((folder / "audit.json").read_text())


def rows(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the report says of each account."""
    return {row["name"]: row for row in report["accounts"]}


@pytest.fixture(scope="module")
def many(bed: Any) -> list[Any]:
    """Accounts with nothing on them yet."""
    return accounts_of(bed, MANY)


def test_many_accounts_are_one_session_each_and_all_in_the_report(bed: Any, many: list[Any]) -> None:
    inventory = bed.accounts_file(many)
    with Memory() as memory:
        ran, report = audit(bed, inventory)
    assert [account.sessions() for account in many] == [1] * MANY
    assert set(rows(report)) == {account.name for account in many}
    assert {row["state"] for row in report["accounts"]} == {"measured"}, ran.text
    assert {row["name"] for row in report["accounts"] if not row["checks"]} == set()
    assert {finding["account"] for finding in report["findings"]} == {account.name for account in many}
    assert 20 < memory.mb < MOST_MB
    assert ran.code == 2, "nothing is set up there, and that is not said"


def test_one_that_hangs_is_not_measured_and_the_others_are_complete(bed: Any, many: list[Any]) -> None:
    hangs = bed.new_account("dfki", files={".bashrc": STOPPED})
    patience = {"ansible_ssh_common_args": f"-F {bed.ssh_config} {IMPATIENT}"}
    inventory = bed.accounts_file([hangs, *many], settings={hangs.name: {"vars": patience}})
    ran, report = audit(bed, inventory)
    found = rows(report)
    assert found.pop(hangs.name)["state"] == "unknown"
    assert set(found) == {account.name for account in many}
    assert {row["state"] for row in found.values()} == {"measured"}, ran.text
    assert "1 account could not be measured" in ran.text
