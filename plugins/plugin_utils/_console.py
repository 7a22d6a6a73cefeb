# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines that a person reads: pure functions from a result of converge to text of a given width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import CHANGES, FAILURES
from ansible_collections.hpc.onboard.plugins.plugin_utils._result import FORESEEN, WORDS, counted

WORD_WIDTH = 12
COLOURS = {
    "in_place": "green",
    "missing": "yellow",
    "different": "yellow",
    "unwanted": "yellow",
    "blocked": "red",
    "failed": "red",
    "not_measured": "red",
}


class Line(NamedTuple):
    """A line and its colour, a name of Ansible's."""

    text: str
    colour: str | None = None


def account(name: str, result: Mapping[str, Any], check: bool, every: bool, width: int) -> list[Line]:
    """What came of one account: a heading, then what changed or failed, and why something was left out.

    every: also what was in place.
    """
    if "outcomes" not in result:
        word = "unreachable" if result.get("unreachable") else "failed"
        return [Line(f"{name}  {word}", "red"), *_told(word, str(result.get("msg", "")), "red", width)]
    lines = [_heading(name, result, check, width)]
    where = result.get("sandbox")
    if where:
        lines += _told("sandbox", f"nothing left this machine; all of it lies in {where}", "cyan", width)
    for outcome in result["outcomes"]:
        if every or outcome["status"] != "in_place":
            lines += _outcome(outcome, check, width)
    for note in result.get("notes", []):
        lines += _told("left out", f"{note['capability']}: {note['text']}", "cyan", width)
    return lines


def _heading(name: str, result: Mapping[str, Any], check: bool, width: int) -> Line:
    outcomes = result.get("outcomes", [])
    statuses = {outcome["status"] for outcome in outcomes}
    colour = "red" if statuses & set(FAILURES) else "yellow" if statuses & set(CHANGES) else "green"
    seconds = f"{result.get('seconds', 0.0):.1f} s"
    text = f"{name}  {counted(outcomes, check) or 'nothing to do'}"
    return Line(f"{text}{seconds.rjust(max(2 + len(seconds), width - len(text)))}", colour)


def _outcome(outcome: Mapping[str, Any], check: bool, width: int) -> Iterator[Line]:
    status = outcome["status"]
    word = FORESEEN.get(status, WORDS[status]) if check else WORDS[status]
    text = outcome["identity"]
    if outcome["after"].get("target"):
        text += f" -> {outcome['after']['target']}"
    yield from _told(word, text, COLOURS[status], width)
    if outcome["reason"]:
        yield from _told("", outcome["reason"], COLOURS[status], width)


def _told(word: str, text: str, colour: str, width: int) -> list[Line]:
    """A word and a text that keeps to its column."""
    indent = " " * (WORD_WIDTH + 3)
    wrapped = textwrap.wrap(text, max(20, width - len(indent)), break_long_words=False, break_on_hyphens=False)
    first = f"  {word.ljust(WORD_WIDTH)} {wrapped[0] if wrapped else ''}"
    return [Line(line, colour) for line in [first, *(indent + more for more in wrapped[1:])]]


def recap(states: Mapping[str, str], check: bool, sandbox: bool, command: str) -> list[Line]:
    """The last lines. states: account -> ok, changed, failed or unreachable; command: what was run."""
    bad = [name for name, state in states.items() if state in ("failed", "unreachable")]
    changed = sum(state == "changed" for state in states.values())
    done = "would change" if check else "changed"
    parts = [f"{changed} {done}", f"{len(states) - changed - len(bad)} as wanted", f"{len(bad)} not as wanted"]
    total = f"{len(states)} account{'s' if len(states) != 1 else ''}"
    text = f"{total}: {', '.join(part for part in parts if not part.startswith('0 ')) or 'nothing to do'}"
    lines = [Line(text, "red" if bad else "yellow" if changed else "green")]
    if bad:
        names = ",".join(bad)
        lines.append(Line(f"Mend what is said above, then: {command} -l '{names}'", "red"))
    elif sandbox:
        lines.append(Line("These are sandboxes. Put your own accounts into the accounts file, without 'sandbox'."))
    elif changed and not check:
        lines.append(Line("Log in anew, and it is all there.", "green"))
    return lines
