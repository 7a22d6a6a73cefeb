# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The accounts file of a command, and the names in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .._input.writers import abbreviate_home, find_other_writers

PRACTICE = Path("inventory/practice.yml")  # of a checkout, for users without a file of their own
VARIABLE = "HPC_ONBOARD_ACCOUNTS"
NEXT = "To create one, run: hpc-onboard init. To use another file: -i FILE"


class CommandError(Exception):
    """A command that cannot be run as it was typed: what is wrong, and what to do. Exit code 2."""


class AccountsSource(NamedTuple):
    """The files with the accounts. is_named: -i or the variable names them."""

    paths: tuple[str, ...]
    is_named: bool

    def file(self) -> Path | None:
        """Return the file, if there is one and it is a file."""
        return Path(self.paths[0]) if len(self.paths) == 1 and Path(self.paths[0]).is_file() else None


def places(environment: Mapping[str, str]) -> list[Path]:
    """Return where accounts files are searched if none is named, in this order."""
    home = Path(environment.get("HOME") or Path.home())
    settings = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    return [Path("accounts.yml"), Path("inventory/accounts.yml"), settings / "hpc.onboard" / "accounts.yml"]


def find(typed: Sequence[str], environment: Mapping[str, str]) -> AccountsSource | None:
    """Return what -i names, what the variable names, or the first accounts file; None if there is none."""
    for path in typed:
        if "," not in path and not Path(path).expanduser().exists():
            raise CommandError(f"-i {path}: file not found")
    if typed:
        return AccountsSource(tuple(typed), True)
    named = environment.get(VARIABLE)
    if named:
        if not Path(named).expanduser().exists():
            raise CommandError(f"{named}: file not found. The path is from the environment variable {VARIABLE}.")
        return AccountsSource((str(Path(named).expanduser()),), True)
    there = [path for path in [*places(environment), PRACTICE] if path.is_file()]
    if not there:
        return None
    if why := find_other_writers(there[0]):
        raise CommandError(
            f"{abbreviate_home(there[0])} is not used: {why}.\nAnyone who can write this file can run programs as "
            f"you. If the file is yours, run: chmod go-w FILE FOLDER. To use it anyway: -i {there[0]}"
        )
    return AccountsSource((str(there[0]),), False)


def not_found(environment: Mapping[str, str]) -> CommandError:
    """Return the error for a missing accounts file."""
    looked = ", ".join(abbreviate_home(path) for path in places(environment))
    return CommandError(f"no accounts file found. Searched: {looked}.\n{NEXT}")


def read_names(file: Path) -> set[str]:
    """Return the accounts of a file and their clusters, without reading any profile. Raises Mistakes."""
    from .._input.diagnostics import YamlText, read_text

    document = YamlText(file, read_text(file)).document()
    entries = document.get("accounts") if isinstance(document, dict) else None
    names = set(map(str, entries)) if isinstance(entries, dict) else set()
    return names | {name.rpartition("@")[2].replace("-", "_") for name in names}


def read_groups(file: Path) -> tuple[set[str], set[str]]:
    """Return the accounts of a file, and their groups: clusters, sites, container runtimes. Raises Mistakes."""
    # Imported here: YAML and profiles take longer than everything else together, and few commands need them.
    from .._accounts.accounts_file import AccountsFile
    from .._accounts.host_variables import build_hosts
    from .._input.diagnostics import read_text

    made = build_hosts(AccountsFile.parse(file, read_text(file)))
    return {host.name for host in made}, {group for host in made for group in host.groups}


def read_profile_folders(typed: Sequence[str]) -> list[Path]:
    """Return the folders of profiles that the accounts file names. Raises CommandError, Mistakes."""
    source = find(typed, os.environ)
    file = source.file() if source else None
    if file is None:
        return []
    from .._input.diagnostics import YamlText, read_text

    document = YamlText(file, read_text(file)).document()
    listed = document.get("profiles") if isinstance(document, dict) else None
    named = [file.parent / os.path.expanduser(str(name)) for name in (listed if isinstance(listed, list) else ())]
    return [folder for folder in named if folder.is_dir()]
