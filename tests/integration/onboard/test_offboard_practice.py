# SPDX-License-Identifier: GPL-3.0-or-later
"""Offboarding is exact whatever became of the settings, the receipt and the order of roles; looked at in a sandbox."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.integration.runs import COMMAND

ACCOUNT = "ada@dfki"
SCRIPT: dict[str, Any] = {"path_scripts": {"scripts": [{"name": "s1.sh", "file": "s1.sh"}]}}
BARE = ["conda", "tool_caches", "container_caches", "launchers"]


class Ended(NamedTuple):
    """The exit code of a command, and all that it printed, in one line."""

    code: int
    text: str


class Practice:
    """One account in a sandbox, and the folder with its accounts file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / ".sandbox" / ACCOUNT
        self.home = self.root / "home" / "ada"
        self.receipt = self.home / ".config" / "hpc.onboard" / "receipt.json"
        self.kept = folder / "state" / "hpc.onboard" / "receipts" / f"{ACCOUNT}.sandbox.json"
        (folder / "s1.sh").write_text("#!/bin/sh\necho hi\n")
        (folder / "mine.txt").write_text("mine\n")

    def declare(self, **settings: Any) -> None:
        """Write the accounts file."""
        document = {"plugin": "hpc.onboard.accounts", "sandbox": True, "accounts": {ACCOUNT: settings}}
        (self.folder / "accounts.yml").write_text(yaml.safe_dump(document))

    def run(self, *words: str) -> Ended:
        """Run hpc-onboard with no terminal."""
        own = {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state"), "COLUMNS": "200"}
        done = subprocess.run(
            [COMMAND, *words, "-i", "accounts.yml"], cwd=self.folder, env={**os.environ, **own, "TERM": "dumb"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        return Ended(done.returncode, " ".join((done.stdout + done.stderr).split()))

    def onboard(self, code: int = 0) -> str:
        """Onboard, and give what is printed."""
        return self._ended(code, "onboard")

    def offboard(self, code: int = 0) -> str:
        """Offboard without a question, and give what is printed."""
        return self._ended(code, "offboard", "--yes")

    def _ended(self, code: int, *words: str) -> str:
        done = self.run(*words)
        assert done.code == code, done.text
        return done.text

    def left(self) -> set[str]:
        """The paths in the home, and those of the user's data, without what an empty sandbox holds."""
        found = [*self.home.rglob("*"), *(self.root / "data").glob("*/**")]
        return {f"/{path.relative_to(self.root)}".replace("/home/ada", "~") for path in found}


@pytest.fixture
def practice(tmp_path: Path) -> Practice:
    return Practice(tmp_path)


def test_a_folder_that_two_roles_share_goes_though_it_was_made_for_the_later_one(practice: Practice) -> None:
    practice.declare(without=BARE, **SCRIPT)
    practice.onboard()
    practice.declare(without=BARE[:-1], **SCRIPT)
    practice.onboard()
    assert {"~/bin/s1.sh", "~/bin/usrun.sh"} <= practice.left()
    practice.offboard()
    assert practice.left() == set()


def test_a_created_folder_that_holds_a_file_of_the_users_stays_and_is_said(practice: Practice) -> None:
    practice.declare(without=BARE[:-1], **SCRIPT)
    practice.onboard()
    (practice.home / "bin" / "own").write_text("mine")
    text = practice.offboard()
    assert "~/bin is not removed, because it is not empty" in text
    assert {"~/bin", "~/bin/own"} <= practice.left()
    assert not {"~/bin/s1.sh", "~/bin/usrun.sh", "~/enroot"} & practice.left()
    assert "1 account: 1 unchanged" in practice.offboard()
    (practice.home / "bin" / "own").unlink()
    practice.offboard()
    assert practice.left() == set()


@pytest.fixture
def keyed(practice: Practice) -> Practice:
    """An account that was onboarded, and whose receipt is gone since."""
    practice.declare(without=BARE, **SCRIPT)
    practice.onboard()
    (practice.home / ".config/hpc.onboard/receipt.json").unlink()
    return practice


def test_without_a_receipt_on_the_account_the_copy_here_says_what_was_created(keyed: Practice) -> None:
    keyed.offboard()
    assert not [path for path in keyed.home.rglob("*") if path.is_file() or path.is_symlink()]


def test_without_a_receipt_a_key_that_the_copy_does_not_know_is_exit_2_and_named(keyed: Practice) -> None:
    file = keyed.home / "enroot" / ".credentials"
    file.write_text(file.read_text().replace("nvapi-not", "nvapi-other"))
    said = keyed.offboard(2)
    assert "~/enroot/.credentials" in said
    assert "nvapi-other" in file.read_text()


def test_without_a_receipt_what_the_user_changed_stays_and_is_said(keyed: Practice) -> None:
    script = keyed.home / "bin" / "s1.sh"
    script.write_text(script.read_text() + "# mine\n")
    assert "~/bin/s1.sh" in keyed.offboard()
    assert script.exists()


def test_onboarding_restores_a_lost_receipt_from_the_copy(keyed: Practice) -> None:
    before = keyed.kept.read_text()
    keyed.onboard()
    assert keyed.receipt.exists()
    assert [one["made"] for one in json.loads(keyed.kept.read_text())["resources"].values()] == [
        one["made"] for one in json.loads(before)["resources"].values()
    ]
    keyed.offboard()
    assert not [path for path in keyed.home.rglob("*") if path.is_file() or path.is_symlink()]
