# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the accounts file of a command, and read the names in it.

An inventory is Ansible's name for a list of hosts: here an accounts file, a folder of files, or a list HOST,HOST. The
parameter inventory contains the values of the option -i, environment is that of the process. Mistakes is the error for
an invalid file.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...module_utils._core.errors import AccountError
from .._input.collection import COLLECTION
from .._input.command_line import expand_home
from .._input.writers import abbreviate_home, find_other_writers, write_protection_command
from .subcommands import SUBCOMMANDS

PRACTICE = Path("inventory/practice.yml")  # in a checkout of hpc-onboard: sandboxes, for users without a file
VARIABLE = "HPC_ONBOARD_ACCOUNTS"
CREATE_ADVICE = "To create an accounts file, run: hpc-onboard init. To use another file, add: -i FILE"


class CommandError(Exception):
    """A command that cannot run as typed: what is wrong, and what to do. Exit code 2."""


class AccountsSource(NamedTuple):
    """The inventory with the accounts. is_named: the user named it by -i or the environment variable VARIABLE."""

    paths: tuple[str, ...]
    is_named: bool

    def single_file(self) -> Path | None:
        """Return the accounts file; None for several files, a folder or a list of hosts."""
        return Path(self.paths[0]) if len(self.paths) == 1 and Path(self.paths[0]).is_file() else None


def list_default_paths(environment: Mapping[str, str]) -> list[Path]:
    """Return the paths where an accounts file is searched if the user names none, in this order."""
    home = Path(environment.get("HOME") or Path.home())
    settings = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    return [Path("accounts.yml"), Path("inventory/accounts.yml"), settings / "hpc.onboard" / "accounts.yml"]


def find_source(inventory: Sequence[str], environment: Mapping[str, str]) -> AccountsSource | None:
    """Return the inventory of -i, else of HPC_ONBOARD_ACCOUNTS, else the first default file; None if no file exists.

    Raises CommandError if a named file is missing, or if other users can change the default file: the user has not
    chosen that file, and it can contain programs to run.
    """
    # a shell does not expand ~ in --inventory=~/FILE; HOST,HOST is not a file
    paths = tuple(path if "," in path else os.path.expanduser(path) for path in inventory)
    for path in paths:
        if "," not in path and not os.path.exists(path):
            raise CommandError(f"-i {path}: file not found")
    if paths:
        return AccountsSource(paths, is_named=True)
    path_from_variable = os.path.expanduser(environment.get(VARIABLE, ""))
    if path_from_variable:
        if not os.path.exists(path_from_variable):
            raise CommandError(
                f"{path_from_variable}: file not found. Correct or unset the environment variable {VARIABLE}."
            )
        return AccountsSource((path_from_variable,), is_named=True)
    file = next((path for path in [*list_default_paths(environment), PRACTICE] if path.is_file()), None)
    if file is None:
        return None
    if reason := find_other_writers(file):
        raise CommandError(
            f"hpc-onboard does not use {abbreviate_home(file)}, because {reason}.\n"
            "Anyone who can write to this file can run programs as you. "
            f"If the path is yours, run: {write_protection_command(file)}\n"
            "If another user owns the path, use your own copy of the file. "
            f"To use this file anyway, add: -i {shlex.quote(str(file))}"
        )
    return AccountsSource((str(file),), is_named=False)


def inventory_options(file: Path) -> list[str]:
    """Return the option -i for commands that use this accounts file; [] if they find it by themselves."""
    source = find_source([], os.environ)
    is_default = source and Path(source.paths[0]).absolute() == file.absolute()
    return [] if is_default else ["-i", str(file)]


def missing_file_error(environment: Mapping[str, str]) -> CommandError:
    """Return the error for a missing accounts file: the default paths, and how to create a file."""
    searched = ", ".join(abbreviate_home(path) for path in list_default_paths(environment))
    return CommandError(f"no accounts file found. Searched: {searched}.\n{CREATE_ADVICE}")


def suggest_subcommand(word: str) -> str:
    """Return the subcommand that a misspelt word resembles; empty if none does, or if the word is a known cluster."""
    import difflib  # only a mistake needs it

    is_cluster = (COLLECTION / "inventory" / "clusters" / f"{word}.yml").is_file()  # fir resembles fix
    return next(iter([] if is_cluster else difflib.get_close_matches(word.lower(), SUBCOMMANDS, 1)), "")


def read_names(file: Path) -> set[str]:
    """Return the accounts and clusters that can be named in a command, without reading any profile. Raises Mistakes.

    Clusters are named as Ansible names their groups: with _ in place of -.
    """
    # imported late, as below: most commands need no YAML
    from .._input.diagnostics import load_document
    from .._input.json_schema import as_mapping

    names = set(map(str, as_mapping(as_mapping(load_document(file)).get("accounts"))))
    return names | {name.rpartition("@")[2].replace("-", "_") for name in names}


def read_names_and_groups(file: Path) -> tuple[set[str], set[str]]:
    """Return the accounts of a file, and their groups: clusters, sites, container runtimes. Raises Mistakes."""
    # imported here: YAML and profiles take longer than everything else together, and few commands need them
    from .._accounts.accounts_file import AccountsFile
    from .._accounts.host_variables import build_hosts
    from .._input.diagnostics import read_text

    hosts = build_hosts(AccountsFile.parse(file, read_text(file)))
    return {host.name for host in hosts}, {group for host in hosts for group in host.groups}


def find_single_file(inventory: Sequence[str]) -> Path | None:
    """Return the accounts file that a run uses; None if it is not a single file. Raises CommandError."""
    source = find_source(inventory, os.environ)
    return source.single_file() if source else None


def read_path(text: str) -> Path:
    """Return the path with ~ replaced. Raise ArgumentTypeError for an empty text, or ~NAME of an unknown user."""
    if not text:
        raise argparse.ArgumentTypeError("expected the path of a file or folder")
    try:
        return Path(expand_home(text))
    except AccountError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def read_folder(text: str) -> Path:
    """Return the folder that an option names, with ~ replaced. Raises ArgumentTypeError if the folder is missing."""
    folder = read_path(text)  # a shell does not expand ~ in --profiles=~/FOLDER
    if not os.path.isdir(folder):
        raise argparse.ArgumentTypeError(f'there is no folder "{text}"')
    return folder


def read_profile_folders(inventory: Sequence[str]) -> list[Path]:
    """Return the existing folders of profiles that the accounts file lists. Raises CommandError, Mistakes."""
    file = find_single_file(inventory)
    if file is None:  # the inventory is not an accounts file
        return []
    from .._input.diagnostics import load_document
    from .._input.json_schema import as_mapping

    names = as_mapping(load_document(file)).get("profiles")
    folders = [file.parent / os.path.expanduser(str(name)) for name in (names if isinstance(names, list) else ())]
    return [folder for folder in folders if os.path.isdir(folder)]  # Path.is_dir raises for an impossible name
