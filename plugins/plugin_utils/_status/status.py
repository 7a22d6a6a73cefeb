# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb status: how all accounts stand, at once, from what this machine remembers."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from .._command.refused import Refused
from .._command.verbs import VERBS
from .._input.command_line import PROGRAM
from .._input.writers import from_home
from .._state.durable_files import StateError
from .._terminal.layout import Line, Look, plain, width_of
from . import choice, lines, memory


def main(arguments: Sequence[str], program: str) -> int:
    """Run the verb. 0 shown, whatever it shows; 2 where there is nothing to show, with the reason."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Say how your accounts stand, from this machine's records alone: no network, no keyring.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="accounts, clusters or patterns; else all")
    parser.add_argument("-i", "--inventory", action="append", default=[], metavar="FILE", help="the accounts file")
    parser.add_argument("--json", action="store_true", help="as a document (docs/schemas/status.schema.json)")
    wish = parser.parse_args(arguments)
    os.environ.setdefault(PROGRAM, program.rpartition(" ")[0])  # commands that are told are ours
    try:
        return _shown(wish, program)
    except (Refused, StateError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2


def _shown(wish: argparse.Namespace, program: str) -> int:
    file = choice.accounts_file(wish.inventory)
    if file is None:
        first = "init" if "init" in VERBS else "doctor"
        print(f"No accounts file yet. Begin with:\n  {program.rpartition(' ')[0]} {first}", file=sys.stderr)
        return 2
    every, now = choice.known(file), datetime.now(UTC)
    mine = choice.chosen(every, wish.names, file)
    found = memory.status(_near(file), mine, len(mine) == len(every), now)
    if wish.json:
        print(json.dumps(found, indent=1))
        return 0
    is_ascii = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    look = Look(width_of(shutil.get_terminal_size().columns), is_ascii)
    print(f"Accounts from {from_home(_near(file))}\n")
    for line in lines.lines(found, now, look):
        print(painted(line) if sys.stdout.isatty() and "NO_COLOR" not in os.environ else plain(line))
    return 0


COLOURS = {"ok": "32", "changed": "33", "error": "31", "note": "36", "bold": "1", "faint": "2"}


def painted(line: Line) -> str:
    """A line with its colours, as Ansible's usual settings have them."""
    return "".join(f"\033[{COLOURS[one.style]}m{one.text}\033[0m" if one.style in COLOURS else one.text for one in line)


def _near(file: Path) -> Path:
    """The path from here, where it lies below here and here is not the home, from which a run says it."""
    here = Path.cwd()
    return file.relative_to(here) if here in file.parents and here != Path.home() else file
