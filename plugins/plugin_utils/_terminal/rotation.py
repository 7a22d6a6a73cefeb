# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation in lines for a person: what its lead says of all targets, and what came of each account's share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._rotation.reminders import list_reminders
from .account import BAD, AccountEnd, Renderer, Result, View, worst
from .checks import ChecksRenderer, marked, shown, title
from .layout import Line, Terminal, command, indented_lines, table_row

if TYPE_CHECKING:
    from .._documents.result import TargetCheck


class RotationLeadRenderer(ChecksRenderer):
    """What the lead found and did; it is no account, and judges them all."""

    is_of_account = False
    is_judged_later = True
    tells_skips = False

    def is_quiet(self, result: Result, view: View) -> bool:
        return not result["checks"]

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        return [*title(result["title"], result, view), *_table(shown(result, view), view.terminal)]

    def next_command(self, result: Result) -> str | None:
        command: str = result["then"]
        return command


class RotationShareRenderer(Renderer):
    """An account's share of a step. One without a share in it has nothing to say."""

    is_judged_later = True
    tells_skips = False

    def kept(self, first: AccountEnd | None, then: AccountEnd) -> AccountEnd:
        """An account is asked again: a failure that is over counts no more, a change does."""
        return then if first is None or first.state in BAD or then.state in BAD else worst(first, then)


def _table(found: list[TargetCheck], terminal: Terminal) -> Iterator[Line]:
    """Every target with what is known of it in a column of its own; what else is said is below."""
    column = max((len(check["name"]) for check in found if check["is_target"]), default=0)
    for check in found:
        mark, style = marked(check, terminal)
        if check["is_target"]:
            yield from table_row(mark, style, check["name"], check["text"], column, terminal)
        else:
            yield from table_row(mark, style, check["name"], check["text"], terminal.width, terminal)


def reminder_lines(terminal: Terminal) -> list[Line]:
    """Return which rotation is open and which old key still works, with the command for each."""
    lines: list[Line] = []
    for reminder in list_reminders():
        heading = indented_lines(f"{reminder.text}:", 0, terminal, "changed")
        lines += [(), *heading, *command(reminder.command, 2, terminal)]
    return lines
