# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of a run: what went wrong and what to run next, then what is up to date or empty, then the totals."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._text.sanitise import clean_line
from .account import BAD, AccountEnd, Detail, Renderer, Result, View, steps
from .layout import (
    Line,
    Span,
    Terminal,
    aligned_line,
    command,
    count_cells,
    indented_lines,
    plain,
    truncate,
    wrap_spans,
)

if TYPE_CHECKING:
    from .._documents.result import ManualStep
    from .plan import Overview

LONGEST_LIMIT = 66
AFTER = {
    False: "Log in again for the changes to take effect.",
    True: "Open shells still have the old settings. Log in again.",
}


class RunSummary(NamedTuple):
    """What a run was.

    command: how to run it again, without -l; keyrings: where keys came from; doctor: nothing was to be changed;
    then: of a rotation the command that goes on with it, empty where nothing is left to do. emptied: things were taken
    out, and none was made. names: the command that lets ssh know the accounts by name, where it is time to offer that.
    counts: what the accounts are, where they are none. is_planned: the plans of the accounts were shown with totals.
    """

    command: str
    seconds: float | None = None
    sandboxes: tuple[str, ...] = ()
    keyrings: tuple[str, ...] = ()
    doctor: bool = False
    then: str | None = None
    emptied: bool = False
    names: str = ""
    counts: str = "account"
    is_planned: bool = False


class Story:
    """What a run has shown so far, as far as its last lines need it."""

    def __init__(self) -> None:
        self.accounts: dict[str, AccountEnd] = {}
        self.sandboxes: dict[str, None] = {}  # their folders
        self.keyrings: dict[str, None] = {}
        self.is_about_keys = False  # keys were used, or left alone
        self.is_look = False
        self.counts = Renderer.counts
        self.names = ""  # see RunSummary
        self.then: str | None = None  # see RunSummary
        self.plans: Overview | None = None  # those that are not shown yet
        self.is_planned = False
        self._found: set[str] = set()  # statuses of what was looked at
        self._told: dict[str, str] = {}  # what went wrong -> the account where it was told

    def add(self, name: str, result: Result, end: AccountEnd, renderer: Renderer) -> None:
        """Note a result before it is shown."""
        if renderer.is_of_account:
            self.counts = renderer.counts
            self.accounts[name] = renderer.kept(self.accounts.get(name), end)
        for found, where in ((result.get("sandbox"), self.sandboxes), (result.get("keyring"), self.keyrings)):
            where.update({str(found): None} if found else {})
        self.is_look = self.is_look or renderer.is_look
        self.names = self.names or shlex.join((result.get("introduction") or {}).get("names", ()))
        noted = {note["code"] for note in result.get("notes", ())}
        self.is_about_keys = self.is_about_keys or bool(result.get("keyring")) or "rotation_open" in noted
        self._found.update(outcome["status"] for outcome in result.get("outcomes", ()))
        then = renderer.next_command(result)
        self.then = self.then if then is None else then

    def keep_plan(self, name: str, project: str, result: Result) -> None:
        """Keep the preview of an account, to be shown with those of all others."""
        from .plan import Overview  # most runs preview nothing

        self.plans, self.is_planned = self.plans or Overview(), True
        self.plans.add(name, project, result)

    def take_plans(self, terminal: Terminal, took: str = "") -> list[Line]:
        """Return the lines of the previews that are not shown yet, with their totals."""
        plans, self.plans = self.plans, None
        if plans is None:
            return []
        return [*plans.lines(terminal), (), *aligned_line((plans.total(self.accounts),), took, terminal)]

    def summarise(self, typed: str, seconds: float, near: tuple[str, ...]) -> RunSummary:
        """Return what the last lines say of the run. near: the folders of sandboxes, as a person names them."""
        shown = tuple(self.keyrings), self.is_look, self.then, self.is_emptied()
        return RunSummary(typed, seconds, near, *shown, self.names, self.counts, self.is_planned)

    def same_as(self, name: str, end: AccountEnd) -> str | None:
        """The account that failed for the same reason and has told it; None for the first one."""
        first = self._told.setdefault(cause(name, end.reason), name) if end.reason else name
        return first if first != name else None

    def is_emptied(self) -> bool:
        """Return True if things were taken out, and none was made or changed."""
        return "extra" in self._found and not self._found & {"missing", "different"}

    def is_bad(self) -> bool:
        """Return True if an account is not up to date."""
        return any(end.state in BAD for end in self.accounts.values())


def recap(accounts: Mapping[str, AccountEnd], view: View, run: RunSummary) -> list[Line]:
    """All of the last lines."""
    terminal = view.terminal
    bad = groups(accounts)
    lines: list[Line] = [()]
    if len(accounts) > 1 and not run.is_planned:
        for group in bad:
            lines += _group(group, terminal) if len(group.names) > 1 else []  # of one account all was said
    if view.detail is Detail.EXCEPTIONS and not run.is_planned:
        collected = _collected(accounts, "ready" if run.doctor else "unchanged", terminal)
        lines += [(), *collected] if bad and collected else collected
        lines += _steps_of_many(accounts, terminal)
    if run.is_planned:
        lines = []
    elif len(lines) > 1:
        lines.append(())
    if accounts and not run.is_planned:
        total = totals(accounts, view.check, run.doctor, run.counts)
        lines += aligned_line((Span(total, _style(accounts)),), took(run.seconds), terminal)
    return lines + keys(run.keyrings, terminal) + _advice(accounts, view, run)


def keys(keyrings: Sequence[str], terminal: Terminal) -> list[Line]:
    """Return where keys came from, said once a run."""
    return indented_lines(f"Keys were read from {' and '.join(keyrings)}.", 0, terminal, "faint") if keyrings else []


class FailureGroup(NamedTuple):
    """Accounts that ended in the same way for the same reason."""

    state: str
    reason: str
    names: list[str]


def groups(accounts: Mapping[str, AccountEnd]) -> list[FailureGroup]:
    """The accounts that are not up to date, by state and reason, the unreachable ones first."""
    found: dict[tuple[str, str], FailureGroup] = {}
    for name, end in accounts.items():
        if end.state in BAD:
            reason = short(end.reason)
            found.setdefault((end.state, cause(name, reason)), FailureGroup(end.state, reason, [])).names.append(name)
    return sorted(found.values(), key=lambda group: BAD.index(group.state))


def cause(name: str, reason: str) -> str:
    """A reason without the account's own name, so that those of several accounts can be compared."""
    return reason.replace(name, "").replace(f"{name.partition('@')[0]}@", "")


def short(reason: str) -> str:
    """The first sentence of a reason; the whole stands where the account was shown."""
    return re.split(r"(?<=\w{2})\. |\n|(?<=\w)\? ", reason.strip(), maxsplit=1)[0].rstrip(".")


def _group(group: FailureGroup, terminal: Terminal) -> list[Line]:
    head = Span(f"{terminal.mark('bad')} {group.state}", "error")
    lines = wrap_spans((head, Span("  "), Span(", ".join(group.names), "bold")), terminal)
    return lines + indented_lines(group.reason, 4, terminal)


def limit(names: Sequence[str]) -> str:
    """The -l option that chooses these accounts; where that is too long to read, their cluster, or none.

    None is as good: what is up to date stays as it is.
    """
    joined = ",".join(names)
    if count_cells(joined) <= LONGEST_LIMIT:
        return f" -l '{joined}'"
    clusters = {name.rpartition("@")[2] for name in names}
    return f" -l {clusters.pop()}" if len(clusters) == 1 and all("@" in name for name in names) else ""


def _collected(accounts: Mapping[str, AccountEnd], word: str, terminal: Terminal) -> list[Line]:
    """Return one line for all accounts that are up to date, and one for each reason why others are empty."""
    found: dict[tuple[Span, str], list[str]] = {}
    for name, end in accounts.items():
        if end.state == "ok" and not end.warned:
            found.setdefault((Span(terminal.mark("good"), "ok"), word), []).append(name)
        elif end.state == "empty":
            found.setdefault((Span("-", "note"), f"with {end.reason}"), []).append(name)
    return [_line_of(mark, said, names, terminal) for (mark, said), names in found.items()]


def _line_of(mark: Span, said: str, names: Sequence[str], terminal: Terminal) -> Line:
    head = (
        mark,
        Span(
            truncate(
                f" {len(names)} {clean_line(said)}  ", terminal.width - count_cells(mark.text), terminal.mark("more")
            )
        ),
    )
    room = terminal.width - count_cells(plain(head))
    return (*head, Span(truncate(clean_line(", ".join(names)), room, terminal.mark("more")), "faint"))


def _steps_of_many(accounts: Mapping[str, AccountEnd], terminal: Terminal) -> list[Line]:
    """Return what persons must do, each step once, with the number of accounts that it is for."""
    counts = Counter((s["id"], s["text"], s.get("url", "")) for end in accounts.values() for s in end.steps)
    told: list[ManualStep] = [
        {"id": name, "text": text if number == 1 else f"{text} ({number} accounts)", "url": url}
        for (name, text, url), number in counts.items()
    ]
    return [(), *steps("Manual steps:", told, terminal, 0)] if told else []


def totals(accounts: Mapping[str, AccountEnd], check: bool, doctor: bool = False, what: str = "account") -> str:
    """Return '60 accounts: 10 changed, 46 unchanged, 1 with nothing to remove, 3 not up to date (3 unreachable)'."""
    counts = Counter(end.state for end in accounts.values())
    bad = [f"{counts[state]} {state}" for state in BAD if counts[state]]
    number = sum(counts[state] for state in BAD)
    warned = sum(end.warned for end in accounts.values())
    fine = counts["ok"] + (counts["changed"] if doctor else 0) - warned
    parts = [] if doctor else [(counts["changed"], "would change" if check else "changed")]
    parts += [(fine, "ready" if doctor else "unchanged"), (warned, "ready, with warnings")]
    empty = Counter(end.reason for end in accounts.values() if end.state == "empty")
    parts += [(count, f"with {reason}") for reason, count in empty.items()]
    parts += [(number, f"{'not ready' if doctor else 'not up to date'} ({', '.join(bad)})")]
    total = f"{len(accounts)} {what}{'s' if len(accounts) != 1 else ''}"
    return f"{total}: {', '.join(f'{count} {word}' for count, word in parts if count) or 'nothing to do'}"


def _style(accounts: Mapping[str, AccountEnd]) -> str:
    states = {end.state for end in accounts.values()}
    if states & set(BAD):
        return "error"
    if "changed" in states or any(end.warned for end in accounts.values()):
        return "changed"
    return "ok" if states - {"empty"} else "note"


def took(seconds: float | None) -> str:
    """Return the time of a run of a second or more, in words."""
    if seconds is None or seconds < 1:
        return ""
    if seconds < 60:
        return f"{int(seconds)} s"
    from .._text.amounts import format_duration  # few take minutes

    return format_duration(seconds)


def practised(sandboxes: Sequence[str], terminal: Terminal) -> list[Line]:
    """Return where the accounts were that were none, and how to have real ones."""
    if not sandboxes:
        return []
    where = os.path.commonpath(sandboxes) if len({*map(os.path.isabs, sandboxes)}) == 1 else "sandboxes"
    text = f"Everything is on this machine, in {where}. To set up your own accounts, run: hpc-onboard init"
    return indented_lines(text, 0, terminal)


def _advice(accounts: Mapping[str, AccountEnd], view: View, run: RunSummary) -> list[Line]:
    """Return what to do now, in the last lines."""
    terminal = view.terminal
    bad = [name for name, end in accounts.items() if end.state in BAD]
    changed = [name for name, end in accounts.items() if end.state == "changed"]
    lines: list[Line] = []
    if view.detail is Detail.EXCEPTIONS and changed and not run.is_planned:
        lines += indented_lines(f"To see each change, add -v or -l '{changed[0]}'.", 0, terminal, "faint")
    if run.then is not None:
        return lines + (indented_lines("Next step:", 0, terminal) + command(run.then, 2, terminal) if run.then else [])
    if bad:
        lines += indented_lines("Fix the problems above, then run:", 0, terminal)
        return lines + command(run.command + limit(bad), 2, terminal)
    if run.doctor:
        return lines
    if run.sandboxes:
        return lines + practised(run.sandboxes, terminal)
    if changed and not view.check:
        lines += indented_lines(AFTER[run.emptied], 0, terminal, "ok")
    if run.names:
        lines += indented_lines("To log in with short names, such as 'ssh wilson', run:", 0, terminal)
        lines += command(run.names, 2, terminal)
    return lines
