# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a rotation: the coordinator's report on all targets, and the result of each account's part.

A rotation replaces a key on all accounts in several steps. The coordinator, a task on this machine, directs the steps,
in which each account has a part. A target is a file of an account that contains the key.

Each renderer shows one kind of task result. lines() returns its lines for an account (name) with the options of the
output (view). is_hidden() returns True if a result is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._rotation.reminders import list_reminders
from .account import FAILED_STATES, AccountEnd, Renderer, Result, View
from .checks import ChecksRenderer, choose_mark, select_checks, title_lines
from .layout import Line, Terminal, indented_lines, table_row, wrap_command

if TYPE_CHECKING:
    from .._documents.result import TargetCheck


class RotationLeadRenderer(ChecksRenderer):
    """The report of the coordinator on all targets."""

    is_of_account = False  # it is about all accounts
    is_judged_later = True
    shows_skips = False

    def is_hidden(self, result: Result, view: View) -> bool:
        """Return True for a report without checks, because the coordinator has nothing to report in this step."""
        return not result["checks"]

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the title of the report, with totals, and the targets. The title replaces the account (name)."""
        return [*title_lines(result["title"], result, view), *_target_lines(select_checks(result, view), view.terminal)]

    def next_command(self, result: Result) -> str | None:
        """Return the command that continues the rotation; empty if nothing is left to do."""
        command: str = result["then"]
        return command


class RotationShareRenderer(Renderer):
    """The part of one account in a step of the rotation."""

    is_judged_later = True  # the coordinator judges all accounts
    shows_skips = False  # in most steps, some accounts have no part

    def merge_ends(self, first: AccountEnd | None, second: AccountEnd) -> AccountEnd:
        """Return the end of an account after two steps. first: None before the first step.

        A later step repeats a failed one, and replaces its end. A step that fails decides the end.
        """
        if first is None or first.state in FAILED_STATES or second.state in FAILED_STATES:
            return second
        return super().merge_ends(first, second)  # an earlier change counts


def _target_lines(checks: list[TargetCheck], terminal: Terminal) -> Iterator[Line]:
    """Yield the targets as a table, and the other checks as single lines."""
    column = max((len(check["name"]) for check in checks if check["is_target"]), default=0)
    for check in checks:
        mark, style = choose_mark(check, terminal)
        # for a column as wide as the terminal, table_row() writes the text directly after the name
        width = column if check["is_target"] else terminal.width
        yield from table_row(mark, style, check["name"], check["text"], width, terminal)


def reminder_lines(terminal: Terminal) -> list[Line]:
    """Return a line for each open rotation and each old key that still works, with the next command."""
    lines: list[Line] = []
    for reminder in list_reminders():
        heading = indented_lines(f"{reminder.text}:", 0, terminal, "changed")
        lines += [(), *heading, *wrap_command(reminder.command, 2, terminal)]
    return lines
