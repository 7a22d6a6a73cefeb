# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand done: mark a manual step as done or not done, or list the steps of an account.

A manual step is something at a site that only the user can do. A mark is this machine's record that the user has done
a step. Some steps are due on a day that the accounts file sets, and some again a number of days after they were done.
Other steps are recognised as done by a sign, for instance a key in the keyring.
"""

from __future__ import annotations

import argparse
import getpass
import os
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
from .._terminal.layout import Line, Terminal, indented_lines, limit_width, list_item, plain_text
from . import choice
from .memory import prepare_memory_reader
from .standing import split_steps


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand. "list_names" and "list_steps" are functions for completion by Tab."""
    complete_by(parser.add_argument("account", metavar="ACCOUNT", help="such as simone@wilson"), "list_names")
    step = parser.add_argument("step", nargs="?", metavar="STEP", help="the name of the step, as `status` shows it")
    complete_by(step, "list_steps")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--on", default="", metavar="DAY", help="the day when the step was done, such as 2026-09-01; default: today"
    )
    group.add_argument("--not", dest="undone", action="store_true", help="mark the step as not done")
    add_inventory(parser)


def run(options: argparse.Namespace) -> int:
    """Record the step, or list the steps, and return the exit code 0.

    Raise CommandError if the account, the step or the day is wrong, or if the records cannot be used.
    """
    account = _find_account(options.account, choice.find_accounts_file(options.inventory))
    if (options.on or options.undone) and not options.step:
        raise CommandError("--on and --not require a STEP. To list the steps, omit both options")
    done_at = None if options.undone else _to_moment(options.on, datetime.now(UTC))  # None: mark the step as not done
    terminal = Terminal(limit_width(shutil.get_terminal_size().columns))
    try:
        if options.step:
            lines = indented_lines(_mark_step(account, options.step, done_at), 0, terminal)
        else:
            lines = _list_steps(account, terminal)
    except StateError as error:
        raise CommandError(str(error)) from None
    for line in lines:
        print(plain_text(line))
    return 0


def _find_account(name: str, file: Path | None) -> AccountSummary:
    """Return the account of this name in the accounts file. file: None if no accounts file was found.

    Raise CommandError if there is no file, or if the account is unknown or has no manual steps.
    """
    if file is None:
        raise CommandError("no accounts file found. Name a file with -i FILE")
    accounts = {account.name: account for account in choice.read_accounts(file)}
    if name not in accounts:
        raise CommandError(f'"{name}" is not an account in {file}; {nearest(name, accounts)}')
    account = accounts[name]
    if account.sandbox:
        raise CommandError(f"{name} is a sandbox and has no manual steps")
    if not account.steps:
        raise CommandError(f"the profile of {account.cluster} has no manual steps")
    return account


def _to_moment(day: str, now: datetime) -> str:
    """Return the time of a step in UTC: the start of the day of --on, or now if day is empty.

    Raise CommandError for a day that does not exist or is in the future.
    """
    if not day:
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")
    if not is_day(day):
        raise CommandError(describe_impossible_day(day))
    if day > str(date.today()):
        raise CommandError(f"--on {day} is in the future; mark the step when it is done")
    return f"{day}T00:00:00Z"


def _mark_step(account: AccountSummary, name: str, done_at: str | None) -> str:
    """Mark a step as done at a time in UTC, or as not done if done_at is None. Return a text for the user.

    name: the id of the step. Raise CommandError if the account has no such step.
    """
    step = next((step for step in account.steps if step["id"] == name), None)
    if step is None:
        raise CommandError(
            f'"{name}" is not a step of {account.name}; {nearest(name, [s["id"] for s in account.steps])}'
        )
    if done_at is None:
        was_marked = done_steps.set_mark(account.name, name, mark=None)
        reopened = f"The step {name} of {account.name} is open again: {step['text']}"
        return reopened if was_marked else f"The step {name} of {account.name} was not marked as done."
    mark: StepMark = {"at": done_at, "by": f"{_find_user()}@{socket.gethostname()}"}
    if "due" in step:  # the day that the accounts file sets: the step is done for this day only
        if not is_day(step["due"]):  # otherwise a correction of the day would open the step again
            raise CommandError(f"the step {name} of {account.name}: {describe_impossible_day(step['due'])}")
        mark["due"] = step["due"]
    done_steps.set_mark(account.name, name, mark)
    description = _describe_mark(f"The step {name} of {account.name}", step, mark)
    return f"{description}. To undo this, repeat the command with --not."


def _find_user() -> str:
    """Return the name of the user, or the user id if this machine does not know the name, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _describe_mark(title: str, step: Mapping[str, Any], mark: StepMark) -> str:
    """Return a sentence, without its period, about a step that is marked as done. title: the sentence's subject."""
    next_day = repeat_day(step, mark)  # the day on which the step must be done again, or None
    if next_day and next_day <= date.today():
        return f"{title} was done on {mark['at'][:10]} and has been due again since {next_day}"
    if next_day:
        return f"{title} is done until {next_day}"
    if "due" in mark:
        return f"{title} is done for {mark['due']}; set the next due date in the accounts file"
    return f"{title} is done"


def _list_steps(account: AccountSummary, terminal: Terminal) -> list[Line]:
    """Return the lines about all steps of an account: text, url, and how the step gets done."""
    read_memory = prepare_memory_reader()
    memory = read_memory(account, ())  # (): no rotations of keys, on which the steps do not depend
    _open_steps, steps_done = split_steps(account, memory, date.today())
    done_ids = {step["id"] for step in steps_done}
    lines: list[Line] = []
    for step in account.steps:
        is_done = step["id"] in done_ids
        mark = "done " if is_done else "open "
        lines += list_item(mark, f"{step['id']}  {step['text']}", indent=0, terminal=terminal)
        lines += indented_lines(step["url"], 6, terminal) if "url" in step else []
        lines += indented_lines(_describe_state(step, memory.marks.get(step["id"]), is_done), 6, terminal)
    return lines


def _describe_state(step: Mapping[str, Any], mark: StepMark | None, is_done: bool) -> str:
    """Return who marked a step as done, or how the step gets done, and when the step is due.

    mark: None if the user has not marked the step. is_done: by a mark or a sign.
    """
    how = f"{mark['by']} marked this step as done on {mark['at'][:10]}" if mark else _describe_sign(step.get("done"))
    # the next day of the step, and the day that the accounts file sets, unless the step is done for that day
    due_date, own_date = due_day(step, mark), own_day(step, mark)
    if due_date and own_date:
        return f"due on {due_date}; {how if mark else 'open until you mark the step as done'}"
    if due_date:  # the step must be repeated
        is_over = due_date <= date.today()
        return f"{how}; the step has been due again since {due_date}" if is_over else f"{how}, until {due_date}"
    return "hpc-onboard has detected that this step is done" if is_done and not mark else how


def _describe_sign(sign: str | None) -> str:
    """Return how hpc-onboard recognises that a step is done. sign: the field `done` of the step."""
    texts = {
        None: "the step is open until you mark it as done",
        "reached": "the step is done when hpc-onboard reaches the account",
        "key": "the step is done when the keyring has the key",
    }
    return texts.get(sign, "the step is done when the path is set")  # the sign "link"
