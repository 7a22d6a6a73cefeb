# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that is said again, for a person to copy."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from ansible.parsing.splitter import parse_kv
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import (
    PLAYBOOKS,
    Invocation,
    command_for,
    describe_options,
    relative_path,
    repeat_command,
    setting_options,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.playbook_options import (
    SETTING_OPTIONS,
    to_options,
    to_variables,
)

PLAY = "ansible-playbook onboard.yml"


def test_the_next_command_chooses_the_same_and_shows_no_variables() -> None:
    typed = {"inventory": ["/x/accounts.yml"], "tags": ["conda"], "skip_tags": [], "check": True}
    given = ["-i", "/x/accounts.yml", "-e", "token=canary", "onboard.yml", "-l", "a@b"]
    command_for = repeat_command(typed, given, ["onboard.yml"])
    assert command_for == "ansible-playbook -i /x/accounts.yml onboard.yml --check --tags conda"
    assert repeat_command({"inventory": ["/etc/x"], "tags": ["all"]}, ["onboard.yml"], ["onboard.yml"]) == PLAY


@pytest.mark.parametrize(
    ("program", "playbook", "extra_vars", "command"),
    [
        ("hpc-onboard", "hpc.onboard.offboard", '{"offboard_only": "undeclared", "offboard_sure": true}', "front"),
        ("", "/x/offboard.yml", "offboard_only=undeclared offboard_sure=true token=canary", "playbook"),
    ],
)
def test_a_repeated_offboarding_removes_no_more_than_the_first(
    program: str, playbook: str, extra_vars: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HPC_ONBOARD_COMMAND", program)
    repeated = repeat_command({}, ["-e", extra_vars, "-l", "a@b", playbook], [playbook])
    assert (
        repeated
        == {
            "front": "hpc-onboard offboard --only undeclared",
            "playbook": "ansible-playbook /x/offboard.yml -e offboard_only=undeclared",
        }[command]
    )


def test_a_repeated_rotation_has_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPC_ONBOARD_COMMAND", "hpc-onboard")
    arguments = ["hpc.onboard.rotate", "-e", "secret=wandb", "-e", '{"rotate_resume": true}']
    assert repeat_command({}, arguments, arguments[:1]) == "hpc-onboard rotate --secret wandb --resume"


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
    ("front", "rotate", ["--retired"], "hpc-onboard rotate --retired"),
    ("front", "offboard", ["-l", "a@b", "--only", "undeclared"], "hpc-onboard offboard -l a@b --only undeclared"),
    ("front by its path", "audit", ["--output", "a b"], "/x/hpc-onboard audit -i 'a b.yml' --output 'a b'"),
    ("front by its path", "audit", ["--tags", "watch"], "/x/hpc-onboard audit -i 'a b.yml' --tags watch"),
    ("front by its path", "ledger", ["verify"], "/x/hpc-onboard ledger verify"),
    ("checkout", "onboard", ["-l", "a@b"], "ansible-playbook -i 'a b.yml' /home/ada/hpc.onboard/onboard.yml -l a@b"),
    ("checkout", "plan", [], "ansible-playbook -i 'a b.yml' /home/ada/hpc.onboard/onboard.yml --check"),
    ("checkout", "rotate", [], "ansible-playbook -i 'a b.yml' /home/ada/hpc.onboard/rotate_ngc.yml"),
    (
        "checkout",
        "rotate",
        ["--secret", "wandb", "--resume"],
        "ansible-playbook -i 'a b.yml' /home/ada/hpc.onboard/rotate.yml -e secret=wandb -e rotate_resume=true",
    ),
    ("checkout", "rekey", [], "hpc-onboard rekey"),
    ("checkout", "done", ["a@b", "step"], "hpc-onboard done -i 'a b.yml' a@b step"),
    ("installed", "offboard", ["-l", "a@b"], "hpc-onboard offboard -i 'a b.yml' -l a@b"),
    ("installed", "rotate", ["--resume"], "hpc-onboard rotate -i 'a b.yml' --resume"),
    (
        "installed, accounts from a setting",
        "audit",
        ["--format", "html,json", "--output", "out"],
        "ansible-playbook hpc.onboard.audit -e audit_formats=html,json -e audit_output=out",
    ),
    (
        "installed by Galaxy",
        "rotate",
        ["--retired", "--key-file", "my key"],
        "ansible-playbook -i 'a b.yml' hpc.onboard.rotate_ngc -e rotate_retired=true"
        """ -e '{"rotate_key_file": "my key"}'""",
    ),
    ("installed, accounts from a setting", "audit", [], "ansible-playbook hpc.onboard.audit"),
    ("installed by Galaxy", "doctor", [], "ansible-playbook -i 'a b.yml' hpc.onboard.doctor"),
]


@pytest.mark.parametrize(("way", "verb", "options", "words"), COMMANDS)
def test_a_command_is_told_in_the_words_of_the_one_that_was_typed(
    way: str, verb: str, options: list[str], words: str
) -> None:
    assert shlex.join(WAYS[way].command(verb, options)) == words


def test_options_in_a_sentence_are_those_of_the_command_that_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPC_ONBOARD_COMMAND", "hpc-onboard")
    assert describe_options("rotate", "--resume", "--excuse", "a@b:c") == "--resume --excuse a@b:c"
    monkeypatch.delenv("HPC_ONBOARD_COMMAND")
    assert describe_options("rotate", "--resume", "--excuse", "a@b:c") == "-e rotate_resume=true -e rotate_excuse=a@b:c"


def test_settings_become_options_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"audit_formats": ("html", "md"), "audit_baseline_write": False, "fix_sure": True, "mine": 3}
    monkeypatch.setenv("HPC_ONBOARD_COMMAND", "hpc-onboard")
    written = ["--format", "html,md", "-e", "audit_baseline_write=false", "--yes", "-e", "mine=3"]
    assert setting_options("fix", settings) == written
    monkeypatch.delenv("HPC_ONBOARD_COMMAND")
    assert shlex.join(setting_options("fix", settings)) == (
        "-e audit_formats=html,md -e audit_baseline_write=false -e fix_sure=true -e mine=3"
    )


@pytest.mark.parametrize("subcommand", SETTING_OPTIONS)
def test_every_option_becomes_its_variable_and_back(subcommand: str) -> None:
    for option in SETTING_OPTIONS[subcommand]:
        if option.variable:
            typed = [option.flag, *(["some text"] if option.metavar else [])]
            written = to_variables(subcommand, typed)
            value = parse_kv(written[1]) if "{" not in written[1] else json.loads(written[1])
            assert list(value) == [option.variable]
            given = {option.variable: value[option.variable] if option.metavar else True}
            assert to_options(subcommand, given) == typed


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
