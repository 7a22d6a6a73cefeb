# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb profile: options stand before or behind its parts, and what cannot be done is one line."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("hpc-onboard")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "COLUMNS": "80"}
    line = [sys.executable, str(COMMAND), "profile", *words]
    return subprocess.run(
        line, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("order", [("-p", "here", "check"), ("check", "-p", "here")])
def test_options_stand_before_and_behind(tmp_path: Path, order: tuple[str, ...]) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "attic.yml").write_text("id: attic\nlogin: {host: attic.example.org}\nhome: {}\n")
    assert run(tmp_path, *order).stdout == "here/attic.yml: attic is valid.\n"
    (tmp_path / "here" / "attic.yml").write_text("- id\n")
    wrong = run(tmp_path, *order)
    assert wrong.returncode == 2
    assert (
        "here/attic.yml: this is not a profile; a profile is a mapping (key: value), with one key per line, such as"
        in wrong.stderr
    )
    listed = run(tmp_path, "-p", "here")
    assert listed.returncode == 2
    assert "invalid, 1 mistake" in listed.stdout


def test_a_path_may_begin_with_the_home_where_no_shell_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "attic.yml").write_text("id: attic\nlogin: {host: attic.example.org}\nhome: {}\n")
    assert run(tmp_path, "--profiles=~/here", "check").stdout == "here/attic.yml: attic is valid.\n"
    assert run(tmp_path, "new", "cellar", "--host=a", "--output=~/here").returncode == 0
    assert (tmp_path / "here" / "cellar.yml").exists()
    absent = run(tmp_path, "--profiles=~nobody-of-this-name/here")
    assert (absent.returncode, "Traceback" in absent.stderr) == (2, False)
    assert "the user 'nobody-of-this-name' is unknown on this machine" in absent.stderr


def test_a_new_profile_is_in_the_home_that_the_option_names(tmp_path: Path) -> None:
    ran = run(tmp_path, "new", "attic", "--host", "a.example.org", "--output=~/own, mine")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "    profiles: ['own, mine']\n" in ran.stdout
    assert (tmp_path / "own, mine" / "attic.yml").is_file()
    assert "is a template for a fact that you can add." in ran.stdout
    copied = run(tmp_path, "new", "shed", "--from", "attic", "-p", "own, mine", "--host", "b.example.org").stdout
    assert copied.startswith("own, mine/shed.yml was written. Check that each fact of attic also applies to shed.\n")


def test_a_character_that_a_terminal_lacks_is_replaced(tmp_path: Path) -> None:
    text = "id: attic\nname: Zürich\nlogin: {host: attic.example.org}\nhome: {}\n"
    (tmp_path / "attic.yml").write_text(text, encoding="utf-8")
    line = [sys.executable, str(COMMAND), "profile", "-p", str(tmp_path)]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "attic         Z?rich" in ran.stdout


def test_ctrl_c_at_a_question_ends_without_a_traceback(tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    line = [sys.executable, str(COMMAND), "profile", "new", "attic"]
    with subprocess.Popen(line, cwd=tmp_path, env=environment, stdin=terminal, stderr=terminal) as asking:
        shown = os.read(screen, 1000)
        asking.send_signal(signal.SIGINT)
        assert asking.wait() == -signal.SIGINT
    os.close(terminal)
    assert b"The full name of the cluster" in shown
    assert os.read(screen, 1000).strip() == b""
    os.close(screen)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_full_disk_is_not_an_error_of_a_profile(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with open("/dev/full", "w") as full:
        line = [sys.executable, str(COMMAND), "profile"]
        ran = subprocess.run(line, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (
        2,
        "hpc-onboard: the output could not be written (No space left on device)\n",
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("check",), "you have no profiles of your own"),
        (("new", "At tic", "--host", "a"), '"At tic" is not a valid name'),
        (("new", "../attic", "--host", "a"), '"../attic" is not a valid name'),
        (("new", "attic", "--host", "a", "--from", "wilsn"), 'unknown cluster "wilsn"; did you mean "wilson"?'),
        (("new", "attic", "--host", "a", "--runtime", "sarus"), "--runtime sarus is invalid: Container runtime"),
        (("new", "attic", "--host", "a", "-o", "file"), "file cannot be written: File exists"),
        (("new", "attic", "--host", "a", "-i", "none.yml"), "-i none.yml: file not found"),
        (("new", "attic", "--from", "wilson"), "profile new attic --from wilson --host login.example.org"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line_and_nothing_is_written(
    tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    (tmp_path / "file").touch()
    ran = run(tmp_path, *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
