# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand status: the state of all accounts and keys, from the records of this machine."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from .._command.accounts import CommandError
from .._command.parser import add_inventory, complete_by
from .._input.command_line import PROGRAM
from .._input.writers import abbreviate_home
from .._state.durable_files import StateError
from .._terminal.layout import Line, Terminal, limit_width, plain_text
from . import choice, lines, memory


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand. "list_names" is a function for completion by Tab."""
    names = parser.add_argument("names", nargs="*", metavar="NAME", help="accounts, clusters or patterns; default: all")
    complete_by(names, "list_names")
    add_inventory(parser)
    parser.add_argument("--json", action="store_true", help="print the state as JSON (docs/schemas/status.schema.json)")


def run(options: argparse.Namespace) -> int:
    """Print the status; return 2 without an accounts file, else 0. Raise CommandError if a name is unknown.

    options.prog: the program and its subcommand, as the user started them.
    """
    program = options.prog.rpartition(" ")[0]  # without the subcommand
    os.environ.setdefault(PROGRAM, program)  # printed commands start hpc-onboard in the same way
    try:
        return _print_status(options, program)
    except StateError as error:
        raise CommandError(str(error)) from None


def _print_status(options: argparse.Namespace, program: str) -> int:
    """Print the status of the selected accounts, as text or JSON. Return the exit code.

    program: the name of the program, for the command that a message shows.
    """
    file = choice.find_accounts_file(options.inventory)
    if file is None:
        print(f"No accounts file found. To write an accounts file, run:\n  {program} init", file=sys.stderr)
        return 2
    accounts, now = choice.read_accounts(file), datetime.now(UTC)
    selected = choice.select_accounts(accounts, options.names, file)
    status = memory.build_status(_shorten(file), selected, are_all=len(selected) == len(accounts), now=now)
    if options.json:
        print(json.dumps(status, indent=1))
        return 0
    is_ascii = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    terminal = Terminal(limit_width(shutil.get_terminal_size().columns), is_ascii)
    print(f"Accounts from {abbreviate_home(_shorten(file))}\n")
    render = _colour if sys.stdout.isatty() and "NO_COLOR" not in os.environ else plain_text
    for line in lines.status_lines(status, now, terminal):
        print(render(line))
    return 0


COLOURS = {"ok": "32", "changed": "33", "error": "31", "note": "36", "bold": "1", "faint": "2"}  # codes by style


def _colour(line: Line) -> str:
    """Return the line with the colours that Ansible uses."""
    return "".join(
        f"\033[{COLOURS[span.style]}m{span.text}\033[0m" if span.style in COLOURS else span.text for span in line
    )


def _shorten(file: Path) -> Path:
    """Return a file below the current folder as a relative path, unless this folder is the home directory."""
    folder = Path.cwd()
    return file.relative_to(folder) if folder in file.parents and folder != Path.home() else file
