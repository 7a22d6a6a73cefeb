# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which accounts file a command is about, and what is called by name in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .._input.writers import from_home, other_writers
from .refused import Refused

PRACTICE = Path("inventory/practice.yml")  # of a checkout, for whoever has no file of their own yet
VARIABLE = "HPC_ONBOARD_ACCOUNTS"
NEXT = "hpc-onboard init  asks a few questions and makes one; -i FILE  names yours."


class Source(NamedTuple):
    """Where the accounts are written. named: by -i or by the variable; else it is where one looks for it first."""

    paths: tuple[str, ...]
    named: bool

    def file(self) -> Path | None:
        """The one file that holds all accounts, if it is one."""
        return Path(self.paths[0]) if len(self.paths) == 1 and Path(self.paths[0]).is_file() else None


def places(environment: Mapping[str, str]) -> list[Path]:
    """Where accounts files are looked for, in this order, when none is named."""
    home = Path(environment.get("HOME") or Path.home())
    settings = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    return [Path("accounts.yml"), Path("inventory/accounts.yml"), settings / "hpc.onboard" / "accounts.yml"]


def find(typed: Sequence[str], environment: Mapping[str, str]) -> Source | None:
    """The accounts file: what -i names, what the variable names, or the first that is there; None where none is."""
    for path in typed:
        if "," not in path and not Path(path).expanduser().exists():
            raise Refused(f"-i {path}: there is no such file.")
    if typed:
        return Source(tuple(typed), True)
    named = environment.get(VARIABLE)
    if named:
        if not Path(named).expanduser().exists():
            raise Refused(f"{named}: there is no such file. The variable {VARIABLE} names it.")
        return Source((str(Path(named).expanduser()),), True)
    there = [path for path in [*places(environment), PRACTICE] if path.is_file()]
    if not there:
        return None
    if why := other_writers(there[0]):
        raise Refused(
            f"{from_home(there[0])} was found, and not used: {why}.\nWhoever can write it can run programs as you."
            f" If it is yours: chmod go-w FILE FOLDER. To use it as it is, name it: -i {there[0]}"
        )
    return Source((str(there[0]),), False)


def not_found(environment: Mapping[str, str]) -> Refused:
    """What is said when there is none."""
    looked = ", ".join(from_home(path) for path in places(environment))
    return Refused(f"no accounts file. Looked for: {looked}.\n{NEXT}")


def written(file: Path) -> set[str]:
    """The accounts of a file and their clusters as they are written, without a look at any profile. Raises Mistakes."""
    from .._input.diagnostics import Lines, read_text

    document = Lines(file, read_text(file)).document()
    entries = document.get("accounts") if isinstance(document, dict) else None
    names = set(map(str, entries)) if isinstance(entries, dict) else set()
    return names | {name.rpartition("@")[2].replace("-", "_") for name in names}


def known(file: Path) -> tuple[set[str], set[str]]:
    """The accounts of a file, and the groups that they are in: clusters, sites, container runtimes. Raises Mistakes."""
    # Here, since only a word that is not a verb needs them: YAML and profiles take longer than all else together.
    from .._accounts.accounts_file import AccountsFile, hosts
    from .._input.collection import Roles
    from .._input.diagnostics import Lines, read_text

    lines = Lines(file, read_text(file))
    made = hosts(AccountsFile(lines, lines.document(), Roles()))
    return {host.name for host in made}, {group for host in made for group in host.groups}


def own_folders(typed: Sequence[str]) -> list[Path]:
    """The folders of profiles that the accounts file names, if there is one. Raises Refused, Mistakes."""
    source = find(typed, os.environ)
    file = source.file() if source else None
    if file is None:
        return []
    from .._input.diagnostics import Lines, read_text

    document = Lines(file, read_text(file)).document()
    listed = document.get("profiles") if isinstance(document, dict) else None
    named = [file.parent / os.path.expanduser(str(name)) for name in (listed if isinstance(listed, list) else ())]
    return [folder for folder in named if folder.is_dir()]
