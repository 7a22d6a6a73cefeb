# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be different in a thing, line by line, and which things of the user a preview is about."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from .._delivery.result import CHANGES, render_state
from .._text.amounts import count
from .layout import Line, Terminal, list_item, with_command

if TYPE_CHECKING:
    from .._documents.adoption import AdoptionOffer
    from .._documents.outcome import ResourceOutcome, State


LONG, SHOWN = 20, 8  # new lines in a row: more than so many are cut to so many
HEADED = {"is", "target", "points to"}  # fields of a new folder or link, whose own line says them
ENVIRONMENT = ("/env.sh", "/env.csh", "/env.fish")  # one text for each family of shells


def difference(before: State, after: State, terminal: Terminal, every: bool = False) -> Iterator[Line]:
    """Yield what changes of a state, line by line; what stays is shown only near it.

    What is written in the words of several shells is shown in those of the login shell, and a long new text by its
    beginning; every: all of it.
    """
    if not every and not before and after.keys() <= HEADED:
        return
    hidden = [] if every else unread(before, after)
    before, after = ({name: one[name] for name in one if name not in hidden} for one in (before, after))
    old, new = render_state(before), render_state(after)
    indent = 6 if terminal.width < 60 else 17
    found = [line for line in list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:] if line[:1] != "@"]
    for line in found if every else cut(found):
        mark, text = line[:1], line[1:]
        style = {"+": "added", "-": "removed"}.get(mark, "faint")
        yield from list_item(mark, text, indent, terminal, style)
    if hidden:
        names = ", ".join(name.rpartition("/")[2] for name in hidden)
        yield from list_item(" ", f"the same in {names}, for other shells", indent, terminal, "faint")


def cut(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a difference, each with its mark, without the most of a long new text."""
    for mark, group in groupby(lines, lambda line: line[:1]):
        run = list(group)
        is_long = mark == "+" and len(run) > LONG
        yield from run[:SHOWN] if is_long else run
        if is_long:
            yield f" and {len(run) - SHOWN} more lines (shown with -v)"


def unread(before: State, after: State) -> list[str]:
    """The files of an environment that change, but for the one that a start-up file reads, which changes as well."""
    fields = {**before, **after}
    changed = [name for name in fields if name.endswith(ENVIRONMENT) and before.get(name) != after.get(name)]
    values = [value for name, value in fields.items() if not name.endswith(ENVIRONMENT)]
    read = [name for name in changed if any(f'{name.rpartition("/")[2]}"' in value for value in values)]
    return [name for name in changed if name not in read] if read else []


def list_edits(outcomes: Iterable[ResourceOutcome]) -> dict[str, tuple[str, ...]]:
    """Return the lines that are added to and removed from start-up files of the user's."""
    edits: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        if not outcome["identity"].startswith("environment: ") or outcome["status"] not in CHANGES:
            continue
        for name in {**outcome["before"], **outcome["after"]}:
            old, new = outcome["before"].get(name), outcome["after"].get(name)
            if old != new and name[:1] in ("~", "/") and not name.endswith(ENVIRONMENT):
                lines = [f"- {line}" for line in (old or "").splitlines()]
                lines += [f"+ {line}" for line in (new or "").splitlines()]
                edits.setdefault(name, {}).update(dict.fromkeys(lines))
    return {name: tuple(lines) for name, lines in edits.items()}


def offer_lines(offers: Mapping[str, AdoptionOffer], indent: int, terminal: Terminal) -> list[Line]:
    """Return the command that adopts what accounts have already. offers: by account; at least one."""
    *command, _name = next(iter(offers.values()))["command"]
    text = (
        f"You have {count(sum(one['things'] for one in offers.values()), 'thing')} on your accounts already. To use "
        f"what you have, run:"
    )
    return with_command(text, shlex.join([*command, ",".join(offers)]), indent, terminal)
