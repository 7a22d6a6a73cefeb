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
from .._terminal.layout import Line, Terminal, limit_width, plain
from . import choice, lines, memory


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand."""
    names = parser.add_argument("names", nargs="*", metavar="NAME", help="accounts, clusters or patterns; default: all")
    complete_by(names, "list_names")
    add_inventory(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, by docs/schemas/status.schema.json")


def run(options: argparse.Namespace) -> int:
    """Show the state. Raises CommandError if there is no accounts file or a name is unknown."""
    program = options.prog.rpartition(" ")[0]
    os.environ.setdefault(PROGRAM, program)  # printed commands start hpc-onboard as this one was started
    try:
        return _show(options, program)
    except StateError as error:
        raise CommandError(str(error)) from None


def _show(options: argparse.Namespace, program: str) -> int:
    file = choice.accounts_file(options.inventory)
    if file is None:
        print(f"No accounts file yet. Begin with:\n  {program} init", file=sys.stderr)
        return 2
    every, now = choice.known(file), datetime.now(UTC)
    mine = choice.chosen(every, options.names, file)
    found = memory.status(_shorten(file), mine, len(mine) == len(every), now)
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    is_ascii = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    terminal = Terminal(limit_width(shutil.get_terminal_size().columns), is_ascii)
    print(f"Accounts from {abbreviate_home(_shorten(file))}\n")
    for line in lines.lines(found, now, terminal):
        print(_colour(line) if sys.stdout.isatty() and "NO_COLOR" not in os.environ else plain(line))
    return 0


COLOURS = {"ok": "32", "changed": "33", "error": "31", "note": "36", "bold": "1", "faint": "2"}


def _colour(line: Line) -> str:
    """Return the line with the colours that Ansible uses."""
    return "".join(f"\033[{COLOURS[one.style]}m{one.text}\033[0m" if one.style in COLOURS else one.text for one in line)


def _shorten(file: Path) -> Path:
    """Return the path relative to this folder, if it is below it and this is not the home."""
    here = Path.cwd()
    return file.relative_to(here) if here in file.parents and here != Path.home() else file
