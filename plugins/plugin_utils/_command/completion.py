# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completion by Tab, which the library argcomplete does from the parser; here are the words that it offers.

At each Tab the shell starts this command with the line so far. Nothing is checked then, and neither Ansible nor the
network is used. A file that cannot be read completes to nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._input.collection import COLLECTION
from .._text.sanitise import visible
from . import accounts as accounts_file
from .accounts import CommandError
from .subcommands import SUBCOMMANDS

SHELLS = ("bash", "zsh", "fish")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand completion."""
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def run(options: argparse.Namespace) -> int:
    """Print the script for the shell. Raises CommandError if the library is missing."""
    try:
        import argcomplete
    except ImportError:
        raise CommandError(
            f"completion needs the Python package argcomplete. Run: {sys.executable} -m pip install argcomplete"
        ) from None
    print(argcomplete.shellcode([os.path.basename(options.prog.rpartition(" ")[0])], shell=options.shell))
    return 0


def complete() -> None:
    """Answer the shell, and exit: the line is in the variables that argcomplete has set."""
    try:
        import argcomplete
    except ImportError:
        sys.exit(1)
    from .parser import build_parser, first_word

    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0") or 0)]
    name = first_word(line.split()[1:])
    parser = build_parser(name if name in SUBCOMMANDS else "", "hpc-onboard")
    argcomplete.autocomplete(parser, always_complete_options=False)


def list_first_words(prefix: str, parsed_args: argparse.Namespace, **_more: object) -> list[str]:
    """Return the subcommands, and the names for the short form of onboard."""
    return [*SUBCOMMANDS, *list_names(prefix, parsed_args)]


def list_names(prefix: str, parsed_args: argparse.Namespace, **_more: object) -> list[str]:
    """Return the accounts, clusters and sites of the accounts file."""
    found = _read_accounts(parsed_args)
    return _continue(prefix, [*(one.name for one in found), *(group for one in found for group in one.groups)])


def list_steps(prefix: str, parsed_args: argparse.Namespace, **_more: object) -> list[str]:
    """Return the manual steps of the account that was typed."""
    found = [one for one in _read_accounts(parsed_args) if one.name == parsed_args.account]
    return _continue("", (str(step["id"]) for one in found for step in one.steps))


def list_clusters(prefix: str, parsed_args: argparse.Namespace, **_more: object) -> list[str]:
    """Return the names of the accounts file and all shipped clusters."""
    shipped = sorted(path.stem for path in (COLLECTION / "inventory" / "clusters").glob("*.yml"))
    return [*list_names(prefix, parsed_args), *_continue(prefix, shipped)]


def list_roles(prefix: str, **_more: object) -> list[str]:
    """Return the roles."""
    return _continue(prefix, sorted(path.name for path in (COLLECTION / "roles").iterdir() if path.is_dir()))


def _continue(prefix: str, words: Iterable[str]) -> list[str]:
    """Return the words after the last comma that was typed, without those that would give orders to a terminal."""
    before = prefix[: prefix.rfind(",") + 1]
    return [f"{before}{word}" for word in dict.fromkeys(words) if visible(word) == word]


def _read_accounts(parsed_args: argparse.Namespace) -> Any:
    """Return the accounts of the file that a run would use; none if it cannot be read."""
    from .._accounts import quick_look
    from .._input.diagnostics import Mistakes

    try:
        typed = [str(Path(name).expanduser()) for name in getattr(parsed_args, "inventory", None) or ()]
        source = accounts_file.find(typed, os.environ)
        file = source.file() if source else None
        return quick_look.list_accounts(file) if file else []
    except (CommandError, Mistakes):
        return []
