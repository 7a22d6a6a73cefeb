# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that is said again, for a person to copy."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import (
    PLAYBOOKS,
    Invocation,
    command_for,
    relative_path,
    repeat_command,
)

PLAY = "ansible-playbook onboard.yml"


def test_the_next_command_chooses_the_same_and_shows_no_variables() -> None:
    typed = {"inventory": ["/x/accounts.yml"], "tags": ["conda"], "skip_tags": [], "check": True}
    given = ["-i", "/x/accounts.yml", "-e", "token=canary", "onboard.yml", "-l", "a@b"]
    command_for = repeat_command(typed, given, ["onboard.yml"])
    assert command_for == "ansible-playbook -i /x/accounts.yml onboard.yml --check --tags conda"
    assert repeat_command({"inventory": ["/etc/x"], "tags": ["all"]}, ["onboard.yml"], ["onboard.yml"]) == PLAY


def test_a_path_below_here_is_said_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert relative_path(f"{tmp_path}/inventory/accounts.yml") == "inventory/accounts.yml"
    assert relative_path("/elsewhere/accounts.yml") == "/elsewhere/accounts.yml"


CHECKOUT = Path("/home/ada/hpc.onboard")
HERE = ("-i", "a b.yml")
WAYS = {
    "front": Invocation(("hpc-onboard",), True, CHECKOUT, ()),
    "front by its path": Invocation(("/x/hpc-onboard",), True, None, HERE),
    "checkout": Invocation(("hpc-onboard",), False, CHECKOUT, HERE),
    "installed": Invocation(("hpc-onboard",), False, None, HERE),
    "installed, accounts from a setting": Invocation(("hpc-onboard",), False, None, ()),
    "installed by Galaxy": Invocation((), False, None, HERE),
}
COMMANDS = [
    ("front", "onboard", ["-l", "a@b"], "hpc-onboard onboard -l a@b"),
    ("front", "plan", [], "hpc-onboard plan"),
    ("front", "rotate", ["--secret", "wandb", "-e", "x=1"], "hpc-onboard rotate --secret wandb -e x=1"),
    ("front by its path", "audit", ["--tags", "watch"], "/x/hpc-onboard audit -i 'a b.yml' --tags watch"),
    ("front by its path", "ledger", ["verify"], "/x/hpc-onboard ledger verify"),
    ("checkout", "onboard", ["-l", "a@b"], "ansible-playbook -i 'a b.yml' /home/ada/hpc.onboard/onboard.yml -l a@b"),
    ("checkout", "plan", [], "ansible-playbook -i 'a b.yml' /home/ada/hpc.onboard/onboard.yml --check --diff"),
    ("checkout", "rotate", [], "ansible-playbook -i 'a b.yml' /home/ada/hpc.onboard/rotate_ngc.yml"),
    (
        "checkout",
        "rotate",
        ["--secret", "wandb", "-e", "rotate_resume=true"],
        "ansible-playbook -i 'a b.yml' /home/ada/hpc.onboard/rotate.yml -e secret=wandb -e rotate_resume=true",
    ),
    ("checkout", "rekey", [], "hpc-onboard rekey"),
    ("checkout", "done", ["a@b", "step"], "hpc-onboard done -i 'a b.yml' a@b step"),
    ("installed", "offboard", ["-l", "a@b"], "hpc-onboard offboard -i 'a b.yml' -l a@b"),
    ("installed, accounts from a setting", "audit", [], "ansible-playbook hpc.onboard.audit"),
    ("installed by Galaxy", "doctor", [], "ansible-playbook -i 'a b.yml' hpc.onboard.doctor"),
]


@pytest.mark.parametrize(("way", "verb", "options", "words"), COMMANDS)
def test_a_command_is_told_in_the_words_of_the_one_that_was_typed(
    way: str, verb: str, options: list[str], words: str
) -> None:
    assert shlex.join(WAYS[way].command(verb, options)) == words


def test_the_start_is_read_from_environment_and_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ansible-playbook", "-e", "-i", "x.yml", f"-i{tmp_path}/a.yml", "--inv=b,"])
    monkeypatch.setenv("HPC_ONBOARD_COMMAND", "'/my venv/hpc-onboard'")
    assert command_for("audit") == ["/my venv/hpc-onboard", "audit", "-i", "a.yml", "-i", "b,"]
    monkeypatch.delenv("HPC_ONBOARD_COMMAND")
    root = Path(__file__).resolve().parents[3]
    assert command_for("audit") == ["ansible-playbook", "-i", "a.yml", "-i", "b,", str(root / "audit.yml")]
    monkeypatch.chdir(root)
    assert command_for("audit")[-1] == "audit.yml"


def test_every_playbook_of_the_checkout_can_be_told() -> None:
    root = Path(__file__).resolve().parents[3]
    told = {playbook for playbook, *_options in PLAYBOOKS.values()} | {"rotate"}
    assert told == {file.stem for file in (root / "playbooks").glob("*.yml")}
    assert {f"{name}.yml" for name in told} <= {file.name for file in root.glob("*.yml")}
