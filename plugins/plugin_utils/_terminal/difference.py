# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that few accounts need: the differences of resources, offers to adopt resources, and the introduction.

The outcome of a resource, such as a link or a file, contains its states before and after the run. A state maps fields,
or the paths of files, to values.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from .._delivery.result import CHANGES, render_state
from .._text.amounts import count
from .layout import Line, Terminal, indented_lines, list_item, sentence_with_command, text_column

if TYPE_CHECKING:
    from .._documents.adoption import AdoptionOffer
    from .._documents.outcome import ResourceOutcome, State
    from .._documents.result import Introduction


LONG_TEXT, FIRST_LINES = 20, 8  # a text of more than 20 new lines is cut to its first 8
HEADING_FIELDS = {"is", "target", "points to"}  # of a new folder or link; its heading shows them
DIFF_STYLES = {"+": "added", "-": "removed"}
ENVIRONMENT = ("/env.sh", "/env.csh", "/env.fish")  # of hpc-onboard, with the same settings for each family of shells


def difference_lines(before: State, after: State, terminal: Terminal, every: bool = False) -> Iterator[Line]:
    """Yield the changed lines of a state, each with two unchanged lines around it.

    every: yield the whole difference. Otherwise, files for other shells are only named, and a long new text is cut.
    """
    if not every and not before and after.keys() <= HEADING_FIELDS:
        return  # the heading of a new folder or link contains all of its state
    hidden = [] if every else list_files_of_other_shells(before, after)
    before, after = ({name: state[name] for name in state if name not in hidden} for state in (before, after))
    old, new = render_state(before), render_state(after)
    indent = text_column(terminal)
    # without the two header lines and the line numbers, which begin with @@
    lines = [line for line in list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:] if line[:1] != "@"]
    for line in lines if every else cut_long_texts(lines):
        yield from list_item(line[:1], line[1:], indent, terminal, DIFF_STYLES.get(line[:1], "faint"))
    if hidden:
        names = ", ".join(name.rpartition("/")[2] for name in hidden)
        yield from list_item(" ", f"(the same change in {names}, for other shells)", indent, terminal, "faint")


def finding_diff_lines(diff: Iterable[str], terminal: Terminal) -> Iterator[Line]:
    """Yield the lines of a finding's unified diff, without the line numbers, which begin with @@."""
    for line in diff:
        if not line.startswith("@@ "):
            # the two header lines say which side is which
            text = f"({line[4:]})" if line in ("--- desired", "+++ found") else line[1:]
            yield from list_item(line[:1], text, text_column(terminal), terminal, DIFF_STYLES.get(line[:1], "faint"))


def cut_long_texts(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a difference, each with its mark; of a long new text, only the beginning."""
    for mark, group in groupby(lines, lambda line: line[:1]):
        adjacent_lines = list(group)
        is_long = mark == "+" and len(adjacent_lines) > LONG_TEXT
        yield from adjacent_lines[:FIRST_LINES] if is_long else adjacent_lines
        if is_long:
            yield f" and {len(adjacent_lines) - FIRST_LINES} more lines (shown with -v)"


def list_files_of_other_shells(before: State, after: State) -> list[str]:
    """Return the changed environment files of shells that the user does not use: no start-up file reads them.

    If start-up files read none of the changed files, the user's shells are not known, so return none. before, after:
    file -> content, for start-up files and environment files. A start-up file that reads an environment
    file contains its path in quotes, so the file's name is followed by a quote.
    """
    fields = {**before, **after}
    changed = [name for name in fields if name.endswith(ENVIRONMENT) and before.get(name) != after.get(name)]
    values = [value for name, value in fields.items() if not name.endswith(ENVIRONMENT)]  # of start-up files
    files_read = [name for name in changed if any(f'{name.rpartition("/")[2]}"' in value for value in values)]
    return [name for name in changed if name not in files_read] if files_read else []


def list_edits(outcomes: Iterable[ResourceOutcome]) -> dict[str, tuple[str, ...]]:
    """Return the changed lines of the user's start-up files: file -> lines, each after '+ ' or '- '.

    In the state of an environment, a name that begins with ~ or / is the path of a file.
    """
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
    """Return a sentence with the command that adopts existing resources on these accounts.

    offers: account -> number of its resources ("things"), and the command for this account; at least one.
    indent: the cells before the lines.
    """
    *command, _account = next(iter(offers.values()))["command"]  # the last word is the account
    number = count(sum(offer["things"] for offer in offers.values()), "resource")
    text = f"You have already set up {number} on your accounts. To keep using them, run:"
    return sentence_with_command(text, shlex.join([*command, ",".join(offers)]), indent, terminal)


def introduction_lines(introduction: Introduction, terminal: Terminal) -> list[Line]:
    """Return the lines after the first onboarding: folders and scripts, rules, manual steps, and the next command.

    In the introduction, "command" shows the rules of the site, and "done" lists the manual steps.
    """
    places = f"Your folders and scripts: {', '.join(introduction['places'])}. " if introduction["places"] else ""
    lines = sentence_with_command(f"{places}Rules of the site:", shlex.join(introduction["command"]), 4, terminal)
    if introduction["steps"]:
        text = f"Manual steps left: {len(introduction['steps'])}."
        lines += sentence_with_command(text, shlex.join(introduction["done"]), 4, terminal)
    else:
        lines += indented_lines("Manual steps left: none.", 4, terminal, "faint")
    return lines + sentence_with_command("Next:", shlex.join(introduction["next"]), 4, terminal)
