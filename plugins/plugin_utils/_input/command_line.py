# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that are printed for users to run: each works when it is pasted where it was printed.

Callers name a subcommand and its own options. A run that ansible-playbook started prints a playbook and variables.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .collection import COLLECTION
from .playbook_options import read_options, to_options, to_variables

PROGRAM = "HPC_ONBOARD_COMMAND"  # set by the command hpc-onboard for what it starts: how it was called, for a shell
PLAYBOOKS: dict[str, tuple[str, ...]] = {  # subcommand -> playbook, and the options that make it this subcommand
    "onboard": ("onboard",),
    "plan": ("onboard", "--check"),
    "test-job": ("test_job",),
    "audit": ("audit",),
    "fix": ("fix",),
    "adopt": ("adopt",),
    "probe": ("probe",),
    "rotate": ("rotate_ngc",),
    "offboard": ("offboard",),
    "doctor": ("doctor",),
    "connect": ("connect",),
    "preflight": ("preflight",),
    "export-script": ("export_script",),
    "import-result": ("import_result",),
    "ssh-config": ("ssh_config",),
}
KNOWING_ACCOUNTS = ("status", "done", "cheatsheet")  # subcommands without a playbook that take -i


class Invocation(NamedTuple):
    """How this run was started.

    program: the words that start hpc-onboard here, none where it is not installed. front: whether it started this run.
    checkout: the folder with our playbooks, in a checkout. inventory: the -i options as typed, with their values.
    """

    program: tuple[str, ...]
    front: bool
    checkout: Path | None
    inventory: tuple[str, ...]

    def command(self, subcommand: str, options: Sequence[str] = ()) -> list[str]:
        """Return the words of a command. options: those of the subcommand, and those of ansible-playbook.

        A run of a playbook prints playbooks, and a run of hpc-onboard prints subcommands. Installed without a checkout,
        playbooks have longer names, so hpc-onboard is printed with -i if that finds the same accounts.
        """
        if subcommand not in PLAYBOOKS:
            accounts = self.inventory if subcommand in KNOWING_ACCOUNTS else ()
            return [*(self.program or ("hpc-onboard",)), subcommand, *accounts, *options]
        if self.front or (self.program and self.inventory and not self.checkout):
            return [*self.program, subcommand, *self.inventory, *options]
        playbook, *own = playbook_command(subcommand, options)
        file = relative_path(str(self.checkout / f"{playbook}.yml")) if self.checkout else f"hpc.onboard.{playbook}"
        return ["ansible-playbook", *self.inventory, file, *own]

    def options(self, subcommand: str, options: Sequence[str]) -> list[str]:
        """Return options of a subcommand as the command that started this run takes them."""
        return list(options) if self.front else to_variables(subcommand, options)

    def accounts(self) -> tuple[str, ...]:
        """Return the -i options for Ansible's own programs, which do not find the accounts as hpc-onboard does."""
        found = os.environ.get("ANSIBLE_INVENTORY", "") if self.front and not self.inventory else ""
        return ("-i", relative_path(found)) if found else self.inventory


def command_for(subcommand: str, options: Sequence[str] = ()) -> list[str]:
    """Return the words of a command, for the user who started this run. options: see Invocation.command."""
    return read_invocation().command(subcommand, options)


def describe_options(subcommand: str, *options: str) -> str:
    """Return options of a subcommand for a sentence: `--resume`, or `-e rotate_resume=true` in a run of a playbook."""
    return shlex.join(read_invocation().options(subcommand, options))


def setting_options(subcommand: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the options that set these variables, as the command that started this run takes them."""
    return read_invocation().options(subcommand, to_options(subcommand, settings))


def read_invocation(words: Sequence[str] | None = None) -> Invocation:
    """Return how this run was started, from its environment and its words, by default those of the process."""
    front = shlex.split(os.environ.get(PROGRAM, ""))
    checkout = COLLECTION if (COLLECTION / "onboard.yml").is_file() else None
    found = read_options(sys.argv[1:] if words is None else words)
    typed = [one.value for one in found if one.option == "--inventory" and one.value]
    inventory = tuple(word for value in typed for word in ("-i", relative_path(value)))
    return Invocation(tuple(front) or _find_program(), bool(front), checkout, inventory)


def repeat_command(typed: Mapping[str, Any], given: Sequence[str], playbooks: Sequence[str]) -> str:
    """Return the command that runs the same again. typed: the options as Ansible read them; given: the words.

    It repeats only the options that choose what is done: the others may hold what must not be shown.
    """
    start = read_invocation(given)
    options: list[str] = []
    for option, unset in (("tags", ["all"]), ("skip_tags", [])):
        chosen = list(typed.get(option) or unset)
        options += [f"--{option.replace('_', '-')}", ",".join(chosen)] if chosen != unset else []
    if start.front:
        subcommand, *own = _subcommand_of(playbooks[0], bool(typed.get("check")), given)
        check = ["--check"] if typed.get("check") and subcommand != "plan" else []
        return shlex.join(start.command(subcommand, [*own, *check, *options]))
    check = ["--check"] if typed.get("check") else []
    return shlex.join(["ansible-playbook", *start.inventory, *map(relative_path, playbooks), *check, *options])


def _subcommand_of(playbook: str, is_plan: bool, given: Sequence[str]) -> list[str]:
    """Return the subcommand that started this playbook, and the option that says which key."""
    name = playbook.rpartition(".")[2]
    if name != "rotate":
        if is_plan and name == "onboard":
            return ["plan"]
        return [next((subcommand for subcommand, own in PLAYBOOKS.items() if own == (name,)), name)]
    settings = [one.value for one in read_options(given) if one.option == "--extra-vars" and one.value]
    secrets = [value.removeprefix("secret=") for value in settings if value.startswith("secret=")]
    return ["rotate", "--secret", secrets[0]] if secrets else ["rotate"]


def playbook_command(subcommand: str, options: Sequence[str]) -> list[str]:
    """Return the playbook of a subcommand, by its name, and the options as ansible-playbook takes them."""
    playbook, *own = PLAYBOOKS[subcommand]
    if subcommand == "rotate" and "--secret" in options:
        playbook = "rotate"  # rotate_ngc sets the secret itself
    return [playbook, *own, *to_variables(subcommand, options)]


def relative_path(path: str) -> str:
    """Return the path relative to the working directory if it is below it, else unchanged."""
    return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path


def _find_program() -> tuple[str, ...]:
    """Return the words that start hpc-onboard: of this Python's program, else of the collection's; empty without one.

    Its name is enough if a shell finds the same file by that.
    """
    candidates = (Path(sys.executable).with_name("hpc-onboard"), COLLECTION / "scripts" / "hpc-onboard")
    program = next((path for path in candidates if path.is_file()), None)
    if program is None:
        return ()
    found = shutil.which("hpc-onboard")
    return ("hpc-onboard",) if found and os.path.samefile(found, program) else (str(program),)
