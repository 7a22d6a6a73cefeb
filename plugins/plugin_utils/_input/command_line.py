# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that we tell a person to run: each works when it is pasted where it was printed."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .collection import COLLECTION
from .playbook_options import read_options

PROGRAM = "HPC_ONBOARD_COMMAND"  # set by the command hpc-onboard for what it starts: how it was called, for a shell
PLAYBOOKS: dict[str, tuple[str, ...]] = {  # verb -> playbook, and the options that make it this verb
    "onboard": ("onboard",),
    "plan": ("onboard", "--check", "--diff"),
    "test-job": ("test_job",),
    "audit": ("audit",),
    "fix": ("fix",),
    "rotate": ("rotate_ngc",),
    "offboard": ("offboard",),
    "doctor": ("doctor",),
    "connect": ("connect",),
    "preflight": ("preflight",),
    "export-script": ("export_script",),
    "import-result": ("import_result",),
    "ssh-config": ("ssh_config",),
}
KNOWING_ACCOUNTS = ("status", "done", "cheatsheet")  # verbs without a playbook that are told where the accounts stand


class Invocation(NamedTuple):
    """How this run was started.

    program: the words that start hpc-onboard here, none where it is not installed. front: whether it started this run.
    checkout: the folder with our playbooks, in a checkout. inventory: the -i options as typed, with their values.
    """

    program: tuple[str, ...]
    front: bool
    checkout: Path | None
    inventory: tuple[str, ...]

    def command(self, verb: str, options: Sequence[str] = ()) -> list[str]:
        """The words of the command for a verb of hpc-onboard and its options.

        Whoever runs playbooks is told of playbooks, and whoever runs hpc-onboard of hpc-onboard. Installed without a
        checkout, playbooks have longer names, so hpc-onboard is told of where it would find the same accounts.
        """
        if verb not in PLAYBOOKS:
            accounts = self.inventory if verb in KNOWING_ACCOUNTS else ()
            return [*(self.program or ("hpc-onboard",)), verb, *accounts, *options]
        if self.front or (self.program and self.inventory and not self.checkout):
            return [*self.program, verb, *self.inventory, *options]
        playbook, *own = playbook_command(verb, options)
        file = relative_path(str(self.checkout / f"{playbook}.yml")) if self.checkout else f"hpc.onboard.{playbook}"
        return ["ansible-playbook", *self.inventory, file, *own]

    def accounts(self) -> tuple[str, ...]:
        """The -i options by which Ansible's own programs find the accounts, which hpc-onboard finds by itself."""
        found = os.environ.get("ANSIBLE_INVENTORY", "") if self.front and not self.inventory else ""
        return ("-i", relative_path(found)) if found else self.inventory


def command_for(verb: str, options: Sequence[str] = ()) -> list[str]:
    """The words of the command for a verb of hpc-onboard, for somebody who started this run as it was started."""
    return read_invocation().command(verb, options)


def read_invocation(words: Sequence[str] | None = None) -> Invocation:
    """How this run was started, from its environment and its words."""
    front = shlex.split(os.environ.get(PROGRAM, ""))
    checkout = COLLECTION if (COLLECTION / "onboard.yml").is_file() else None
    found = read_options(sys.argv[1:] if words is None else words)
    typed = [one.value for one in found if one.option == "--inventory" and one.value]
    inventory = tuple(word for value in typed for word in ("-i", relative_path(value)))
    return Invocation(tuple(front) or _find_program(), bool(front), checkout, inventory)


def unattended_options(verb: str) -> list[str]:
    """The words that make a verb ask nobody, for somebody who started this run as it was started."""
    return ["--yes"] if read_invocation().front else ["-e", f"{verb}_sure=true"]


def replace_options(start: Invocation) -> list[str]:
    """Return the words that make onboarding replace keys that it does not know."""
    is_front = start.command("onboard")[0] != "ansible-playbook"
    return ["--replace"] if is_front else ["-e", "onboard_replace=true"]


def repeat_command(typed: Mapping[str, Any], given: Sequence[str], playbooks: Sequence[str]) -> str:
    """The command that runs the same again, from Ansible's options and the words that were typed.

    Only options that choose what is done: the others may hold what must not be shown.
    """
    start = read_invocation(given)
    options: list[str] = []
    for option, unset in (("tags", ["all"]), ("skip_tags", [])):
        chosen = list(typed.get(option) or unset)
        options += [f"--{option.replace('_', '-')}", ",".join(chosen)] if chosen != unset else []
    if start.front:
        verb, *own = _subcommand_of(playbooks[0], bool(typed.get("check") and typed.get("diff")), given)
        check = ["--check"] if typed.get("check") and verb != "plan" else []
        return shlex.join(start.command(verb, [*own, *check, *options]))
    check = ["--check"] if typed.get("check") else []
    return shlex.join(["ansible-playbook", *start.inventory, *map(relative_path, playbooks), *check, *options])


def _subcommand_of(playbook: str, foreseen: bool, given: Sequence[str]) -> list[str]:
    """The verb that hpc-onboard started this playbook for, and the option that says which key."""
    name = playbook.rpartition(".")[2]
    if name != "rotate":
        if foreseen and name == "onboard":
            return ["plan"]
        return [next((verb for verb, own in PLAYBOOKS.items() if own == (name,)), name)]
    settings = [one.value for one in read_options(given) if one.option == "--extra-vars" and one.value]
    secrets = [value.removeprefix("secret=") for value in settings if value.startswith("secret=")]
    return ["rotate", "--secret", secrets[0]] if secrets else ["rotate"]


def playbook_command(verb: str, options: Sequence[str]) -> list[str]:
    """A verb and its options as ansible-playbook takes them: the name of the playbook and its options.

    What hpc-onboard calls --secret is another playbook and a variable.
    """
    playbook, *own = PLAYBOOKS[verb]
    rest = list(options)
    if verb == "rotate" and "--secret" in rest:
        at = rest.index("--secret")
        rest[at : at + 2] = ["-e", f"secret={rest[at + 1]}"]
        playbook = "rotate"
    return [playbook, *own, *rest]


def relative_path(path: str) -> str:
    """The path from here, when it lies below here."""
    return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path


def _find_program() -> tuple[str, ...]:
    """The words that start hpc-onboard here: the one of this Python, else the one that the collection brings.

    Its name is enough where a shell finds the same one by that.
    """
    candidates = (Path(sys.executable).with_name("hpc-onboard"), COLLECTION / "scripts" / "hpc-onboard")
    program = next((path for path in candidates if path.is_file()), None)
    if program is None:
        return ()
    found = shutil.which("hpc-onboard")
    return ("hpc-onboard",) if found and os.path.samefile(found, program) else (str(program),)
