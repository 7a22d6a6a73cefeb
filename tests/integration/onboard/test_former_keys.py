# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that the user had before hpc-onboard: none is lost, whatever the file looks like; in a sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.onboard.test_offboard_practice import Practice

OURS = "nvapi-not-a-real-key-ngc-of-the-sandbox"
THEIRS = "nvapi-" + "t" * 64
WITHOUT = [
    "conda",
    "tool_caches",
    "container_caches",
    "launchers",
    "storage_links",
    "path_scripts",
    "shell_environment",
]
LINE = "machine {} login $oauthtoken password {}\n"
BOTH = LINE.format("nvcr.io", OURS) + LINE.format("authn.nvidia.com", OURS)
OTHER = LINE.format("nvcr.io", THEIRS)
FOREIGN = "# mine\nmachine registry.example.org login me password word\n"

KNOWN: dict[str, tuple[str, int, int]] = {  # content, mode of the file, mode of its folder
    "equal and private": (BOTH, 0o600, 0o700),
    "equal and open": (BOTH, 0o644, 0o700),
    "equal in an open folder": (BOTH, 0o600, 0o755),
    "equal, all open, among other lines": (FOREIGN + BOTH + "\n# end\n", 0o644, 0o755),
    "carriage returns": ((FOREIGN + BOTH).replace("\n", "\r\n"), 0o644, 0o755),
    "other lines alone": (FOREIGN, 0o644, 0o755),
}
UNKNOWN: dict[str, tuple[str, int, int]] = {
    "another key": (OTHER, 0o600, 0o700),
    "another key, open, among other lines": (FOREIGN + OTHER + "# end\n", 0o644, 0o755),
    "two lines for one machine": (LINE.format("nvcr.io", OURS) + OTHER, 0o600, 0o700),
    "both machines": (OTHER + LINE.format("authn.nvidia.com", THEIRS), 0o640, 0o750),
    "odd blanks": ("machine  nvcr.io\tlogin $oauthtoken   password " + THEIRS + "   # old\n", 0o600, 0o700),
}


@pytest.fixture
def practice(tmp_path: Path) -> Practice:
    """An account with nothing but keys."""
    made = Practice(tmp_path)
    made.declare(without=WITHOUT)
    made.home.mkdir(parents=True)
    return made


def lay(practice: Practice, content: str, mode: int, folder: int) -> Path:
    """Write the credentials file as the user has it."""
    file = practice.home / "enroot" / ".credentials"
    file.parent.mkdir()
    file.parent.chmod(folder)
    file.write_bytes(content.encode())
    file.chmod(mode)
    return file


def state(file: Path) -> tuple[bytes, int, int]:
    """Return content, mode and the mode of the folder."""
    return file.read_bytes(), file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777


@pytest.mark.parametrize("case", KNOWN)
def test_a_known_key_is_adopted_and_stays_as_it_was(practice: Practice, case: str) -> None:
    file = lay(practice, *KNOWN[case])
    before = state(file)
    practice.onboard()
    assert OURS.encode() in file.read_bytes()
    assert state(file)[1:] == (0o600, 0o700)
    practice.offboard()
    assert state(file) == before
    assert not practice.receipt.exists()


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_key_is_blocked_and_replaced_by_consent_and_put_back(practice: Practice, case: str) -> None:
    file = lay(practice, *UNKNOWN[case])
    before = state(file)
    said = practice.onboard(2)
    assert "--replace" in said
    assert "~/enroot/.credentials" in said
    assert THEIRS not in said
    assert THEIRS.encode() in file.read_bytes()
    assert practice.run("onboard", "--replace").code == 0
    assert THEIRS.encode() not in file.read_bytes()
    kept = list((practice.home / ".config/hpc.onboard/former").iterdir())
    assert {one.stat().st_mode & 0o777 for one in kept} == {0o600}
    assert practice.run("onboard").code == 0
    practice.offboard()
    assert state(file) == before
    assert not (practice.home / ".config").exists()


def test_a_former_key_is_put_back_among_lines_that_were_edited_since(practice: Practice) -> None:
    file = lay(practice, FOREIGN + OTHER, 0o600, 0o700)
    assert practice.run("onboard", "--replace").code == 0
    file.write_text("# later\n" + file.read_text())
    practice.offboard()
    assert file.read_text() == "# later\n" + FOREIGN + OTHER


def test_check_says_which_modes_become_private(practice: Practice) -> None:
    lay(practice, FOREIGN, 0o644, 0o755)
    said = practice.run("plan", "--check").text
    assert "the mode changes from 0644 to 0600" in said
    assert "the folder mode changes from 0755 to 0700" in said


def test_the_receipt_says_where_each_key_comes_from(practice: Practice) -> None:
    lay(practice, OTHER + LINE.format("authn.nvidia.com", OURS), 0o600, 0o755)
    assert practice.run("onboard", "--replace").code == 0
    notes: dict[str, Any] = json.loads(practice.receipt.read_text())["resources"]
    found = {key: (one["made"], one.get("replaced", False)) for key, one in notes.items() if "credential" in key}
    assert sorted(found.values()) == [(False, False), (False, True)]


def test_an_adopted_line_keeps_its_blanks_when_its_mode_becomes_private(practice: Practice) -> None:
    file = lay(practice, BOTH.replace(" login", "\t login"), 0o644, 0o700)
    before = state(file)
    practice.onboard()
    practice.offboard()
    assert state(file) == before
