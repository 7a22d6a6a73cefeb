# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completion by Tab: the library argcomplete parses the line, and this module lists the words to offer.

At each Tab, the shell starts this command with the line so far. Neither Ansible nor the network is used. A file that
cannot be read offers no words.

argcomplete calls the list functions with prefix, the beginning of the word at the cursor, and parsed_args, the parsed
rest of the line. Its attribute inventory contains the values of the option -i.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .._input.collection import COLLECTION
from .._text.sanitise import visible
from . import accounts as accounts_file
from .accounts import CommandError
from .subcommands import SUBCOMMANDS

if TYPE_CHECKING:
    from .._accounts.quick_look import AccountSummary

SHELLS = ("bash", "zsh", "fish")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand completion."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(options: argparse.Namespace) -> int:
    """Print the script for the shell, and return exit code 0. Raises CommandError if argcomplete is missing."""
    try:
        import argcomplete
    except ImportError:
        raise CommandError(
            f"completion needs the Python package argcomplete. Run: {sys.executable} -m pip install argcomplete"
        ) from None
    program = os.path.basename(shlex.split(options.prog)[-2])  # before the word "completion"
    print(argcomplete.shellcode([program], shell=options.shell))
    return 0


def complete() -> None:
    """Print the completions of the shell's line, and exit. argcomplete's variables contain the line."""
    try:
        import argcomplete
    except ImportError:
        sys.exit(1)  # without a message, which would appear in the middle of the user's line
    from .parser import build_parser, find_first_word

    # COMP_LINE is the line, COMP_POINT the position of the cursor
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0") or 0)]
    word = find_first_word(line.split()[1:])
    parser = build_parser(name=word if word in SUBCOMMANDS else "", program="hpc-onboard")
    argcomplete.autocomplete(parser, always_complete_options=False)  # False: offer options only after a dash


def list_first_words(prefix: str, parsed_args: argparse.Namespace, **_context: object) -> list[str]:
    """Return the subcommands, and the names of accounts for the short form of onboard."""
    return [*SUBCOMMANDS, *list_names(prefix, parsed_args)]


def list_names(prefix: str, parsed_args: argparse.Namespace, **_context: object) -> list[str]:
    """Return the accounts, clusters and sites of the accounts file."""
    accounts = _read_accounts(parsed_args)
    groups = [group for account in accounts for group in account.groups]
    return _complete_list(prefix, [*(account.name for account in accounts), *groups])


def list_steps(prefix: str, parsed_args: argparse.Namespace, **_context: object) -> list[str]:
    """Return the ids of the manual steps of the account in the line."""
    accounts = [account for account in _read_accounts(parsed_args) if account.name == parsed_args.account]
    # with an empty prefix: a step is a single word, not a list
    return _complete_list("", (str(step["id"]) for account in accounts for step in account.steps))


def list_clusters(prefix: str, parsed_args: argparse.Namespace, **_context: object) -> list[str]:
    """Return the accounts, clusters and sites of the accounts file, and the clusters that hpc-onboard knows."""
    shipped = sorted(path.stem for path in (COLLECTION / "inventory" / "clusters").glob("*.yml"))
    return [*list_names(prefix, parsed_args), *_complete_list(prefix, shipped)]


def list_roles(prefix: str, **_context: object) -> list[str]:
    """Return the names of all roles."""
    return _complete_list(prefix, sorted(path.name for path in (COLLECTION / "roles").iterdir() if path.is_dir()))


def _complete_list(prefix: str, words: Iterable[str]) -> list[str]:
    """Return the words to offer, without those that contain control characters. The shell selects those that fit.

    prefix: may be the beginning of a list with commas. Each offered word then repeats the finished part of the list.
    """
    finished_part = prefix[: prefix.rfind(",") + 1]
    return [f"{finished_part}{word}" for word in dict.fromkeys(words) if visible(word) == word]


def _read_accounts(parsed_args: argparse.Namespace) -> list[AccountSummary]:
    """Return the accounts of the file that a run would use; an empty list if the file cannot be read."""
    from .._accounts import quick_look
    from .._input.diagnostics import Mistakes

    try:
        file = accounts_file.find_single_file(getattr(parsed_args, "inventory", None) or ())
        return quick_look.list_accounts(file) if file else []
    except (CommandError, Mistakes):
        return []
