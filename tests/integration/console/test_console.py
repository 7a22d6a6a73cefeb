# SPDX-License-Identifier: GPL-3.0-or-later
"""The console on a real terminal: live while something is under way, whole in any width, and clean at the end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import exhaustive, turns
from tests.integration.runs import CALLBACKS, REPOSITORY
from tests.testbed.screen import Screen

pytestmark = turns(3)
Accounts = Callable[..., Path]
SPINNER = re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")
FETCH = {"step": "downloading Miniforge3 26.1.1-3", "done": 12_000_000, "total": 98_000_000, "unit": "bytes"}
DEMO = {"step": "environment demo", "done": 3, "total": 5, "unit": "steps"}
PROJECTS = {"wilson": "deep_lgt", "daint": "g123", "narval": "def-ada"}
WAY = "{ansible_host: 127.0.0.1, ansible_port: 1, ansible_ssh_common_args: ''}"
DOWN = f"    sandbox: false\n    auth: key\n    vars: {WAY}\n"


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    """Writes an accounts file; slow: those whose Python takes two seconds, down: those that cannot be reached."""
    python = tmp_path / "slow"
    python.write_text('#!/bin/sh\nsleep 2\nexec python3 "$@"\n')
    python.chmod(0o755)

    def write(*names: str, slow: tuple[str, ...] = (), down: tuple[str, ...] = ()) -> Path:
        lines = ["plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n"]
        for name in names:
            cluster = name.partition("@")[2]
            lines.append(f"  {name}:\n")
            lines += [f"    project: {PROJECTS[cluster]}\n"] if cluster in PROJECTS else []
            lines += [f"    vars: {{ansible_python_interpreter: {python}}}\n"] if name in slow else []
            lines += [DOWN] if name in down else []
        file = tmp_path / "accounts.yml"
        file.write_text("".join(lines))
        return file

    return write


def environment(**more: str) -> dict[str, str]:
    """The environment of a person at a terminal."""
    left_out = ("ANSIBLE_", "CI", "NO_COLOR", "PYTHONIOENCODING")
    own = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    config = {"ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    return {**own, **config, "PATH": path, **more}


def busy(*entries: list[Any]) -> dict[str, str]:
    """What makes steps of [seconds, account, entry] be under way."""
    return {
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "busy",
        "BUSY": json.dumps(entries),
    }


class Seat:
    """A person before a terminal on which a playbook runs; moments: every last line that was seen."""

    def __init__(self, file: Path, *arguments: str, columns: int = 80, playbook: str = "onboard.yml", **more: str):
        self.screen = Screen(columns)
        self.moments: list[str] = []
        command = ["ansible-playbook", "-i", str(file), playbook, *arguments]
        self.child = pexpect.spawn(
            command[0],
            command[1:],
            cwd=REPOSITORY,
            env=environment(**more),  # type: ignore[arg-type]  # chosen by tests, of any type
            encoding="utf-8",
            dimensions=(24, columns),
            echo=True,
        )

    def until(self, text: str) -> Seat:
        """Look until the last line has the text."""
        while text not in self.screen.line(-1):
            self._look(50)
        return self

    def end(self) -> Seat:
        """Look until the program has ended."""
        try:
            while True:
                self._look(50)
        except pexpect.EOF:
            self.child.close()
        return self

    def _look(self, size: int) -> None:
        self.screen.feed(self.child.read_nonblocking(size, timeout=60))
        self.moments.append(self.screen.line(-1))

    @property
    def code(self) -> int:
        """The exit code."""
        return int(self.child.exitstatus or 0)

    @property
    def text(self) -> str:
        """All that is left on the terminal."""
        return "\n".join(self.screen.lines())

    def drew(self) -> bool:
        """Whether a live line was ever seen."""
        return any(SPINNER.match(moment) for moment in self.moments)

    def is_clean(self) -> bool:
        """Whether no live line is left, nothing was wrapped, and the cursor begins a line; it was never hidden."""
        left = [line for line in self.screen.lines() if SPINNER.match(line)]
        return not left and not self.screen.wrapped and not self.screen.escapes and self.screen.column == 0


def piped(file: Path, *arguments: str, **more: str) -> str:
    """What a run prints where there is no terminal."""
    command = ["ansible-playbook", "-i", str(file), "onboard.yml", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment(**more), capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_a_live_line_says_who_is_under_way_and_is_gone_at_the_end(accounts: Accounts) -> None:
    seat = Seat(accounts("ada@wilson", "ada@dfki", slow=("ada@wilson",))).end()
    assert seat.code == 0, seat.text
    assert any(re.search(r"1/2  \d s  ada@wilson$", moment) for moment in seat.moments), seat.moments
    assert seat.is_clean(), seat.text
    assert "2 accounts: 2 changed" in seat.text


@pytest.mark.parametrize("columns", [40, pytest.param(60, marks=exhaustive), pytest.param(80, marks=exhaustive), 120])
def test_no_line_is_wider_than_the_terminal(accounts: Accounts, columns: int, tmp_path: Path) -> None:
    (tmp_path / ".sandbox/ada@wilson/home/ada/work/thesis").mkdir(parents=True)
    names = ("ada@wilson", "ada@dfki", "ada@dfki_pegasus", "ada@narval", "ada@daint", "go42tum@lrz")
    file = accounts(*names, slow=("ada@dfki",), down=("go42tum@lrz",))
    far = busy([9, "ada@dfki", FETCH])
    seat = Seat(file, "--diff", columns=columns, **far).end()
    assert seat.screen.wrapped == []
    assert seat.is_clean(), seat.text
    assert seat.drew()
    assert seat.code != 0
    assert "Fix the problems above, then run:" in seat.text


def test_a_long_step_is_shown_with_a_bar(accounts: Accounts) -> None:
    steps = busy([1, "ada@wilson", FETCH], [9, "ada@wilson", DEMO])
    seat = Seat(accounts("ada@wilson", slow=("ada@wilson",)), **steps).end()
    assert any("downloading Miniforge3 26.1.1-3  ━" in m and m.endswith("12/98 MB") for m in seat.moments)
    assert any("environment demo  ━" in moment and moment.endswith("3/5") for moment in seat.moments)
    assert seat.is_clean(), seat.text


def test_while_somebody_is_asked_something_nobody_draws(accounts: Accounts) -> None:
    steps = busy([0.7, "ada@wilson", DEMO], [0.6, "ask", "Passphrase: "])
    seat = Seat(accounts("ada@wilson", "ada@dfki", slow=("ada@wilson", "ada@dfki")), **steps)
    seat.until("3/5").until("Passphrase:")
    assert seat.screen.lines()[-1] == "Passphrase:"
    assert not any("Passphrase" in moment and SPINNER.search(moment) for moment in seat.moments)
    asked = len(seat.moments)
    seat.end()
    assert all(moment in ("Passphrase:", "") or SPINNER.match(moment) for moment in seat.moments[asked : asked + 2])
    assert seat.is_clean(), seat.text


def test_an_interrupt_leaves_a_clean_line(accounts: Accounts) -> None:
    seat = Seat(accounts("ada@wilson", slow=("ada@wilson",))).until("ada@wilson")
    seat.child.sendintr()
    seat.end()
    assert seat.drew()
    assert seat.is_clean(), seat.text
    assert "interrupted" in seat.text
    assert "^C" not in seat.text


def test_a_run_that_is_terminated_leaves_a_clean_line(accounts: Accounts) -> None:
    seat = Seat(accounts("ada@wilson", slow=("ada@wilson",))).until("ada@wilson")
    seat.child.kill(signal.SIGTERM)
    seat.end()
    assert seat.child.signalstatus == signal.SIGTERM
    assert seat.is_clean(), seat.text


def test_a_run_that_breaks_off_leaves_a_clean_line(accounts: Accounts) -> None:
    seat = Seat(accounts("ada@wilson", slow=("ada@wilson",)), "-e", "converge_seconds={{ 1/0 }}").end()
    assert seat.code != 0
    assert seat.is_clean(), seat.text


@turns(2)
@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"ANSIBLE_NOCOLOR": "1"}])
def test_without_colour_there_is_no_escape_sequence_and_nothing_is_lost(
    accounts: Accounts, more: dict[str, str]
) -> None:
    file = accounts("ada@wilson", "ada@dfki", slow=("ada@wilson",))
    plain = Seat(file, "--check", **more).end()
    assert plain.screen.colours == 0
    assert plain.drew()
    assert plain.is_clean(), plain.text
    coloured = Seat(file, "--check").end()
    assert coloured.screen.colours > 0
    assert sorted(re.sub(r"\d", "", coloured.text).split()) == sorted(re.sub(r"\d", "", plain.text).split())


@turns(2)
@pytest.mark.parametrize("more", [{"TERM": "dumb"}, {"CI": "true"}])
def test_no_live_line_where_it_would_be_noise(accounts: Accounts, more: dict[str, str]) -> None:
    seat = Seat(accounts("ada@wilson", slow=("ada@wilson",)), **more).end()
    assert not seat.drew()
    assert seat.is_clean(), seat.text


def test_without_a_terminal_lines_are_plain_and_a_step_is_said_once(accounts: Accounts) -> None:
    steps = busy(
        [0.3, "ada@wilson", FETCH], [0.3, "ada@wilson", {**FETCH, "done": 50_000_000}], [9, "ada@wilson", DEMO]
    )
    said = piped(accounts("ada@wilson", slow=("ada@wilson",)), **steps)
    assert "\x1b" not in said
    assert "\r" not in said
    assert said.splitlines()[:2] == ["ada@wilson  downloading Miniforge3 26.1.1-3", "ada@wilson  environment demo"]
    assert max(map(len, said.splitlines())) <= 80


def test_where_only_ascii_can_be_shown_it_is_enough(accounts: Accounts) -> None:
    seat = Seat(accounts("ada@wilson", slow=("ada@wilson",)), PYTHONIOENCODING="ascii").end()
    assert seat.text.isascii()
    assert "?" not in seat.text
    assert any(re.match(r"[|/\\-] \d s  ada@wilson", moment) for moment in seat.moments)
    assert seat.is_clean()


def test_with_v_everything_is_named_and_from_vv_the_default_speaks(accounts: Accounts) -> None:
    file = accounts("ada@wilson")
    assert "= unchanged" not in piped(file)
    seat = Seat(file, "-v").end()
    assert not seat.drew()
    assert seat.text.count("= unchanged") == 13
    assert "TASK [" not in seat.text
    said = piped(file, "-vv")
    assert "TASK [" in said
    assert "PLAY RECAP" in said


def test_the_default_callback_has_words_too(accounts: Accounts) -> None:
    said = piped(accounts("ada@wilson"), "--check", ANSIBLE_STDOUT_CALLBACK="default")
    assert "PLAY RECAP" in said
    assert '"msg": "13 to create"' in piped(accounts("ada@wilson"), "--check", "-v", ANSIBLE_STDOUT_CALLBACK="default")


def test_with_sixty_accounts_the_second_run_fits_on_a_screen(accounts: Accounts) -> None:
    names = [f"u{number:02}@{cluster}" for number in range(15) for cluster in ("wilson", "dfki", "daint", "narval")]
    file = accounts(*names, down=("u03@dfki", "u07@dfki"))
    first = piped(file)
    assert len(first.splitlines()) < 85
    again = Seat(file).end()
    assert again.code == 4
    assert len(again.text.splitlines()) <= 24, again.text
    assert "58 unchanged  u" in again.text
    assert again.text.count("Connection refused") == 2, again.text  # where it came up, and in the last lines
    assert re.search(r"-l 'u0[37]@dfki,u0[37]@dfki'$", again.text.strip())
    assert again.is_clean()


def test_an_account_that_cannot_be_reached_says_what_comes_before(accounts: Accounts) -> None:
    said = piped(accounts("ada@dfki", down=("ada@dfki",)), "--tags", "launchers")
    assert "Manual steps before the first login:" in said
    assert "\n      https://github.com/MBAZA-NLP/hpc-infrastructure-access\n" in said
    assert "registry" not in said
    assert said.rstrip().endswith("--tags launchers -l 'ada@dfki'")


def test_settings_of_a_wrong_shape_are_said_once_in_a_sentence(accounts: Accounts) -> None:
    said = piped(accounts("ada@wilson", "ada@dfki", "ada@daint"), "-e", "path_scripts_state=me")
    sentence = "role path_scripts: path_scripts_state must be one of present, absent; got me"
    assert " ".join(said.split()).count(sentence) == 2  # where it came up, and in the last lines
    assert "{" not in said


OTHERS = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: A task of others
      ansible.builtin.debug: {msg: hello}
- hosts: localhost
  gather_facts: false
  roles: [{role: hpc.onboard.storage_links, storage_links_areas: [{name: w, path: /tmp, link: ""}]}]
"""


def test_in_a_play_of_others_each_speaks_as_usual(tmp_path: Path) -> None:
    (tmp_path / "others.yml").write_text(OTHERS)
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all: {hosts: {localhost: {ansible_connection: local}}}\n")
    mine = str(tmp_path / "others.yml")
    seat = Seat(inventory, playbook=mine).end()
    assert "TASK [A task of others]" in seat.text
    assert '"msg": "hello"' in seat.text
    assert "- localhost  no resources declared" in seat.text
    assert "PLAY RECAP" in seat.text
    wrong = Seat(inventory, "-e", "storage_links_by=me", playbook=mine).end()
    sentence = "role storage_links: value of storage_links_by must be one of: us, site, got: me"
    assert " ".join(wrong.text.split()).count(sentence) == 1
    assert "argument_errors" not in wrong.text
