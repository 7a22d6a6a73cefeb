# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that are printed for the user to run. Each can be pasted into the shell that started this run.

Callers name a subcommand and its options. If ansible-playbook started the run, a playbook and variables are printed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...module_utils._core.errors import AccountError
from . import mapping_text
from .collection import COLLECTION
from .playbook_options import SETTING_OPTIONS, read_options, to_options, to_variables

PROGRAM = "HPC_ONBOARD_COMMAND"  # set by hpc-onboard for the runs that it starts: the words it was called with
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
WITH_INVENTORY = ("status", "done", "cheatsheet")  # subcommands without a playbook that have the option -i


class Invocation(NamedTuple):
    """How this run was started.

    program: the words that start hpc-onboard; empty if it is not installed. by_program: True if hpc-onboard started
    this run. checkout: the folder with the playbooks; None if this is an installed collection. inventory: the -i
    options, with their values.
    """

    program: tuple[str, ...]
    by_program: bool
    checkout: Path | None
    inventory: tuple[str, ...]

    def command(self, subcommand: str, options: Sequence[str] = ()) -> list[str]:
        """Return the words of a command. options: of the subcommand, and of ansible-playbook.

        A run of hpc-onboard prints subcommands, and a run of a playbook prints playbooks. Without a checkout, playbooks
        have longer names, so hpc-onboard is printed instead. This needs -i, because hpc-onboard may find other accounts
        than ansible-playbook.
        """
        if subcommand not in PLAYBOOKS:  # only hpc-onboard has this subcommand
            accounts = self.inventory if subcommand in WITH_INVENTORY else ()
            return [*(self.program or ("hpc-onboard",)), subcommand, *accounts, *options]
        avoids_long_names = self.program and self.inventory and not self.checkout
        if self.by_program or avoids_long_names:
            return [*self.program, subcommand, *self.inventory, *options]
        playbook, *arguments = playbook_command(subcommand, options)
        file = relative_path(str(self.checkout / f"{playbook}.yml")) if self.checkout else f"hpc.onboard.{playbook}"
        return ["ansible-playbook", *self.inventory, file, *arguments]

    def render_options(self, subcommand: str, options: Sequence[str]) -> list[str]:
        """Return options of a subcommand unchanged, or as -e VARIABLE=VALUE if ansible-playbook started this run."""
        return list(options) if self.by_program else to_variables(subcommand, options)

    def inventory_options(self) -> tuple[str, ...]:
        """Return the -i options for Ansible's own programs, which do not search for the accounts file."""
        # Without -i, hpc-onboard searches for the accounts file, and passes its path in ANSIBLE_INVENTORY.
        inventory = os.environ.get("ANSIBLE_INVENTORY", "") if self.by_program and not self.inventory else ""
        return ("-i", relative_path(inventory)) if inventory else self.inventory


def command_for(subcommand: str, options: Sequence[str] = ()) -> list[str]:
    """Return the words of a command, for the user who started this run. options: see Invocation.command."""
    return read_invocation().command(subcommand, options)


def describe_options(subcommand: str, *options: str) -> str:
    """Return options of a subcommand as text: `--resume`, or `-e rotate_resume=true` in a run of a playbook."""
    return shlex.join(read_invocation().render_options(subcommand, options))


def setting_options(subcommand: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the options that set these variables, for the program that started this run."""
    return read_invocation().render_options(subcommand, to_options(subcommand, settings))


def read_invocation(arguments: Sequence[str] | None = None) -> Invocation:
    """Return how this run was started, from its environment and arguments; by default, those of this process."""
    program = shlex.split(os.environ.get(PROGRAM, ""))
    checkout = COLLECTION if (COLLECTION / "onboard.yml").is_file() else None
    options = read_options(sys.argv[1:] if arguments is None else arguments)
    sources = [option.value for option in options if option.name == "--inventory" and option.value]
    inventory = tuple(word for source in sources for word in ("-i", relative_path(source)))
    return Invocation(
        tuple(program) or _find_program(), by_program=bool(program), checkout=checkout, inventory=inventory
    )


def repeat_command(
    parsed_options: Mapping[str, Any],
    arguments: Sequence[str],
    playbooks: Sequence[str],
    repeated: Mapping[str, Any] | None = None,
) -> str:
    """Return the command that repeats this run, without -l. parsed_options: the arguments, parsed by Ansible.

    arguments: of this run. playbooks: those that Ansible runs. repeated: the settings of the subcommand, by variable;
    by default, those of the arguments, without the confirmation. Other variables may contain secrets: omit them.
    """
    invocation = read_invocation(arguments)
    is_check = bool(parsed_options.get("check"))
    options: list[str] = []
    for option, default in (("tags", ["all"]), ("skip_tags", [])):
        tags = list(parsed_options.get(option) or default)
        options += [f"--{option.replace('_', '-')}", ",".join(tags)] if tags != default else []
    subcommand = _find_subcommand(next(iter(playbooks), ""), is_check)
    repeated = _read_settings(subcommand, arguments) if repeated is None else repeated
    options = [*invocation.render_options(subcommand, to_options(subcommand, repeated)), *options]
    if invocation.by_program:
        check = ["--check"] if is_check and subcommand != "plan" else []  # plan implies --check
        return shlex.join(invocation.command(subcommand, [*check, *options]))
    command = ["ansible-playbook", *invocation.inventory, *map(relative_path, playbooks)]
    return shlex.join([*command, *(["--check"] if is_check else []), *options])


def _find_subcommand(playbook: str, is_check: bool) -> str:
    """Return the subcommand that runs a playbook. playbook: a path or hpc.onboard.NAME. is_check: --check was given."""
    name = Path(playbook).name.removesuffix(".yml").rpartition(".")[2]
    if is_check and name == "onboard":
        return "plan"
    return next((subcommand for subcommand, words in PLAYBOOKS.items() if words == (name,)), name)


def _read_settings(subcommand: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a subcommand in the arguments of a run, by variable, without the confirmation (--yes)."""
    variables = {option.variable for option in SETTING_OPTIONS.get(subcommand, ())}
    extra_vars = [option.value or "" for option in read_options(arguments) if option.name == "--extra-vars"]
    given = {name: value for text in extra_vars for name, value in (mapping_text.read(text) or {}).items()}
    return {name: value for name, value in given.items() if name in variables and not name.endswith("_sure")}


def playbook_command(subcommand: str, options: Sequence[str]) -> list[str]:
    """Return the name of a subcommand's playbook, followed by the options for ansible-playbook.

    options: of the subcommand.
    """
    playbook, *check = PLAYBOOKS[subcommand]
    if subcommand == "rotate" and "--secret" in options:
        playbook = "rotate"  # rotate_ngc sets the secret itself
    return [playbook, *check, *to_variables(subcommand, options)]


def relative_path(path: str) -> str:
    """Return a path below the working directory relative to it; any other path unchanged."""
    return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path


def _find_program() -> tuple[str, ...]:
    """Return the words that start the program hpc-onboard of this Python or collection; empty without the program.

    The bare name is returned if the shell finds the same file on PATH, else the path.
    """
    candidates = (Path(sys.executable).with_name("hpc-onboard"), COLLECTION / "scripts" / "hpc-onboard")
    program = next((path for path in candidates if path.is_file()), None)
    if program is None:
        return ()
    on_path = shutil.which("hpc-onboard")
    return ("hpc-onboard",) if on_path and os.path.samefile(on_path, program) else (str(program),)


def explain_no_accounts(options: Mapping[str, Any], has_accounts: bool) -> str:
    """Return the error for a run without accounts. options: of Ansible. has_accounts: the inventory contains some."""
    if has_accounts:
        return f"-l {options['subset']} excludes all accounts"
    advice = "name your accounts file with -i FILE"
    files = [relative_path(path) for path in options.get("inventory") or () if os.path.isfile(path)]
    if not files:
        return f"no accounts file was read; {advice}"
    subject = f"{', '.join(files)} {'has' if len(files) == 1 else 'have'}"
    return f"no accounts file was read: {subject} no line 'plugin: hpc.onboard.accounts'. Add this line, or {advice}"


def expand_home(path: str) -> str:
    """Return the path with ~ or ~USER replaced. Raise AccountError for an unknown user, not to create ~USER."""
    expanded = os.path.expanduser(path)
    if expanded.startswith("~"):
        raise AccountError(f"{path}: the user {path.partition('/')[0][1:]!r} is unknown on this machine")
    return expanded
