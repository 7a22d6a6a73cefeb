# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand done: mark a manual step as done, or as not done."""

from __future__ import annotations

import argparse
import getpass
import shutil
import socket
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from .._accounts.quick_look import AccountSummary
from .._command.accounts import CommandError
from .._command.parser import add_inventory, complete_by
from .._delivery.manual_steps import due_day, own_day, repeat_day
from .._documents.record import StepMark
from .._input.diagnostics import describe_impossible_day, is_day, nearest
from .._state import done_steps
from .._state.durable_files import StateError
from .._terminal.layout import Terminal, indented_lines, limit_width, plain
from . import choice
from .memory import read_memories
from .standing import split_steps


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand."""
    complete_by(parser.add_argument("account", metavar="ACCOUNT", help="such as simone@wilson"), "list_names")
    step = parser.add_argument("step", nargs="?", metavar="STEP", help="the short name that status shows")
    complete_by(step, "list_steps")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--on", default="", metavar="DAY", help="the day it was done, such as 2026-09-01; default: today"
    )
    group.add_argument("--not", dest="undone", action="store_true", help="it is not done after all")
    add_inventory(parser)


def run(options: argparse.Namespace) -> int:
    """Record the step, or list the steps. Raises CommandError if the account or the step is unknown."""
    account = _account(options.account, choice.accounts_file(options.inventory))
    if (options.on or options.undone) and not options.step:
        raise CommandError("--on and --not need a STEP; without them, the steps are listed")
    moment = None if options.undone else _moment(options.on, datetime.now(UTC))
    try:
        texts = _mark_step(account, options.step, moment) if options.step else _list_steps(account)
    except StateError as error:
        raise CommandError(str(error)) from None
    terminal = Terminal(limit_width(shutil.get_terminal_size().columns))
    for text, indent in texts:
        for line in indented_lines(text, indent, terminal):
            print(plain(line))
    return 0


def _account(name: str, file: Path | None) -> AccountSummary:
    if file is None:
        raise CommandError("there is no accounts file: name one by -i FILE")
    every = choice.known(file)
    found = next((one for one in every if one.name == name), None)
    if found is None:
        raise CommandError(f'"{name}" is not an account in {file}; {nearest(name, [one.name for one in every])}')
    if found.sandbox:
        raise CommandError(f"{name} is a practice account and has no manual steps")
    if not found.steps:
        raise CommandError(f"the profile of {found.cluster} has no manual steps")
    return found


def _moment(day: str, now: datetime) -> str:
    """Return the moment when it was done, in UTC. day: of --on, or empty for now. Raise CommandError."""
    if not day:
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")
    if not is_day(day):
        raise CommandError(describe_impossible_day(day))
    if day > str(date.today()):
        raise CommandError(f"--on {day} is in the future; mark the step when it is done")
    return f"{day}T00:00:00Z"


def _mark_step(account: AccountSummary, name: str, moment: str | None) -> list[tuple[str, int]]:
    """Mark the step as done at that moment, or with None as not done. Return lines with their indents."""
    step = next((one for one in account.steps if one["id"] == name), None)
    if step is None:
        raise CommandError(
            f'"{name}" is not a step of {account.name}; {nearest(name, [s["id"] for s in account.steps])}'
        )
    if moment is None:
        is_new = done_steps.set_mark(account.name, name, None)
        return [(f"{name} of {account.name} is open again: {step['text']}" if is_new else f"{name} was not done.", 0)]
    mark: StepMark = {"at": moment, "by": f"{getpass.getuser()}@{socket.gethostname()}"}
    if "due" in step:
        mark["due"] = step["due"]
    done_steps.set_mark(account.name, name, mark)
    return [(f"{name} of {account.name} {_describe_mark(step, mark)}. Undo this by --not.", 0)]


def _describe_mark(step: Mapping[str, Any], mark: StepMark) -> str:
    """Return the end of a sentence about a step that is marked as done."""
    ended = repeat_day(step, mark)
    if ended and ended <= date.today():
        return f"was done on {mark['at'][:10]} and is due again since {ended}"
    if ended:
        return f"is done, until {ended}"
    return f"is done for {mark['due']}; set its next day in the accounts file" if "due" in mark else "is done"


def _list_steps(account: AccountSummary) -> list[tuple[str, int]]:
    """Return the lines of all steps of an account, each with its state, and their indents."""
    memory = read_memories()(account, ())
    marks, done = memory.said, {step["id"] for step in split_steps(account, memory, date.today())[1]}
    out = []
    for step in account.steps:
        mark = marks.get(step["id"])
        word = f"marked as done on {mark['at'][:10]} by {mark['by']}" if mark else _describe_sign(step.get("done"))
        state = "done" if step["id"] in done else "open"
        due, own = due_day(step, mark), own_day(step, mark)
        if due and own:
            word = f"due on {due}" + (f"; {word}" if mark else "; open until you mark it as done")
        elif due:
            word += f", until {due}" if due > date.today() else f", and due again since {due}"
        elif state == "done" and not mark:
            word = "hpc-onboard has seen that it is done"
        out += [
            (f"{state}  {step['id']}  {step['text']}", 0),
            *([(step["url"], 4)] if "url" in step else []),
            (word, 4),
        ]
    return out


def _describe_sign(sign: str | None) -> str:
    """Return how hpc-onboard recognises that a step is done."""
    words = {"reached": "done once a run reaches the account", "key": "done once the keyring has the key"}
    return words.get(sign or "", "done once the path is set" if sign else "open until you mark it as done")
