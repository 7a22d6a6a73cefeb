# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of a run: failures, unchanged accounts, totals, and the next command.

The end of an account (AccountEnd) is its state (ok, changed, failed, ...) with the reason and the open manual steps. A
view contains the options of the output. A run with many accounts shows only exceptions, such as failures, before these
lines. An inspection, such as doctor, is a run that changes nothing. accounts maps the name of each account to its end.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._text.amounts import describe_duration
from .._text.cells import count_cells, truncate
from .._text.failure_reasons import first_sentence, generalise_reason
from .._text.sanitise import clean_line
from .account import FAILED_STATES, AccountEnd, Detail, Renderer, Result, View
from .layout import (
    Line,
    Span,
    Terminal,
    aligned_line,
    indented_lines,
    limit_option,
    step_lines,
    wrap_command,
    wrap_spans,
)

if TYPE_CHECKING:
    from .._documents.result import ManualStep
    from .plan import Overview

LOGIN_ADVICE = "Log in again for the changes to take effect."
LEAVE_ADVICE = "Open shells still have the old settings. Log in again."


class Story:
    """The facts about the results so far that the last lines need."""

    def __init__(self) -> None:
        self.accounts: dict[str, AccountEnd] = {}
        self.sandboxes: dict[str, None] = {}  # folders, in order of their first use
        self.keyrings: dict[str, None] = {}  # sources of keys, in order of their first use
        self.is_about_keys = False  # the run used keys, or skipped some
        self.is_inspection = False  # the run changes nothing
        self.unit = Renderer.unit  # the noun for an account in the totals
        self.changed_word = Renderer.changed_word  # in the totals
        self.ssh_config = ""  # the command that adds the accounts to the ssh settings
        self.next_command: str | None = None  # of a rotation; empty if nothing is left to do; None without a rotation
        self.plans: Overview | None = None  # not shown yet
        self.is_planned = False  # the previews are shown in plans, with totals
        self.statuses: set[str] = set()  # of all outcomes
        self._causes: dict[str, str] = {}  # cause of a failure -> the account where it was shown

    def add(self, name: str, result: Result, end: AccountEnd, renderer: Renderer) -> None:
        """Record the facts of a result that the last lines need.

        name: the account. end: its end, as the renderer, which shows results of this kind, has found it in the result.
        """
        if renderer.is_of_account:
            self.unit = renderer.unit
            self.changed_word = renderer.changed_word if end.state == "changed" else self.changed_word
            self.accounts[name] = renderer.merge_ends(self.accounts.get(name), end)
        if result.get("sandbox"):
            self.sandboxes[str(result["sandbox"])] = None
        if result.get("keyring"):
            self.keyrings[str(result["keyring"])] = None
        self.is_inspection = self.is_inspection or renderer.is_inspection
        self.ssh_config = self.ssh_config or shlex.join((result.get("introduction") or {}).get("names", ()))
        codes = {note["code"] for note in result.get("notes", ())}
        has_skipped_keys = "rotation_open" in codes  # an open rotation replaces them
        self.is_about_keys = self.is_about_keys or bool(result.get("keyring")) or has_skipped_keys
        self.statuses.update(outcome["status"] for outcome in result.get("outcomes", ()))
        next_command = renderer.next_command(result)
        self.next_command = self.next_command if next_command is None else next_command

    def keep_plan(self, name: str, project: str, result: Result) -> None:
        """Keep the preview of an account (name) with this project, to be shown with those of all others."""
        from .plan import Overview  # imported late: most runs are no previews

        self.plans, self.is_planned = self.plans or Overview(), True
        self.plans.add(name, project, result)

    def pop_plan_lines(self, terminal: Terminal, duration: str) -> list[Line]:
        """Return the lines of the previews that were not shown yet, with their totals, and forget these previews.

        duration: the time of the run, shown after the totals; empty before its end.
        """
        plans, self.plans = self.plans, None
        if plans is None:
            return []
        return [*plans.lines(terminal), (), *aligned_line((plans.total(self.accounts),), duration, terminal)]

    def find_same_failure(self, name: str, end: AccountEnd) -> str:
        """Return the account that has shown the failure of this end before; empty if none has. name: this account."""
        if not end.reason:
            return ""
        first = self._causes.setdefault(generalise_reason(name, end.reason), name)
        return first if first != name else ""

    def has_failures(self) -> bool:
        """Return True if an account failed or could not be reached."""
        return any(end.state in FAILED_STATES for end in self.accounts.values())


def summary_lines(story: Story, view: View, command: str, run_limit: str, seconds: float | None = None) -> list[Line]:
    """Return all of the last lines of a run.

    command: starts the run again, without -l. run_limit: the -l of the run, or "". seconds: its duration.
    """
    lines = [] if story.is_planned else _account_lines(story, view, seconds)
    return lines + keyring_lines(story.keyrings, view.terminal) + _advice_lines(story, view, command, run_limit)


def _account_lines(story: Story, view: View, seconds: float | None) -> list[Line]:
    """Return the failures that accounts share, the totals and, for many accounts, unchanged ones and manual steps."""
    accounts, terminal = story.accounts, view.terminal
    failures = group_failures(accounts)
    lines: list[Line] = [()]  # an empty line
    for group in failures:  # the failure of a single account was shown with the account
        lines += _failure_lines(group, terminal) if len(group.names) > 1 else []
    if view.detail is Detail.EXCEPTIONS:
        quiet = _quiet_account_lines(accounts, "ready" if story.is_inspection else "unchanged", terminal)
        lines += [(), *quiet] if failures and quiet else quiet
        lines += _common_step_lines(accounts, terminal)
    if len(lines) > 1:
        lines.append(())  # before the totals
    if accounts:
        total = describe_totals(accounts, view.check, story.is_inspection, story.unit, story.changed_word)
        lines += aligned_line((Span(total, _choose_style(accounts)),), describe_duration(seconds), terminal)
    return lines


def keyring_lines(keyrings: Collection[str], terminal: Terminal) -> list[Line]:
    """Return a line that names the sources of the keys of a run (keyrings); no line if it used no keys."""
    return indented_lines(f"Keys were read from {' and '.join(keyrings)}.", 0, terminal, "faint") if keyrings else []


class FailureGroup(NamedTuple):
    """Accounts (names) that ended in the same state for the same reason."""

    state: str
    reason: str
    names: list[str]


def group_failures(accounts: Mapping[str, AccountEnd]) -> list[FailureGroup]:
    """Return the failed accounts, grouped by state and reason, the unreachable ones first."""
    groups: dict[tuple[str, str], FailureGroup] = {}
    for name, end in accounts.items():
        if end.state in FAILED_STATES:
            reason = first_sentence(end.reason)
            key = end.state, generalise_reason(name, reason)
            groups.setdefault(key, FailureGroup(end.state, reason, [])).names.append(name)
    return sorted(groups.values(), key=lambda group: FAILED_STATES.index(group.state))


def _failure_lines(group: FailureGroup, terminal: Terminal) -> list[Line]:
    """Return the state and names of accounts that failed for the same reason, and below them this reason."""
    head = Span(f"{terminal.mark('bad')} {group.state}", "error")
    lines = wrap_spans((head, Span("  "), Span(", ".join(group.names), "bold")), terminal)
    return lines + indented_lines(group.reason, 4, terminal)


def _quiet_account_lines(accounts: Mapping[str, AccountEnd], word: str, terminal: Terminal) -> list[Line]:
    """Return a line for all accounts that are up to date, and a line for each reason why nothing is declared.

    word: describes the accounts that are up to date. Accounts with warnings or failures are not in these lines.
    """
    groups: dict[tuple[Span, str], list[str]] = {}
    for name, end in accounts.items():
        if end.state == "ok" and not end.warned:
            groups.setdefault((Span(terminal.mark("good"), "ok"), word), []).append(name)
        elif end.state == "empty":
            groups.setdefault((Span("-", "note"), f"with {end.reason}"), []).append(name)
    return [_names_line(mark, text, names, terminal) for (mark, text), names in groups.items()]


def _names_line(mark: Span, text: str, names: Sequence[str], terminal: Terminal) -> Line:
    """Return a line with a mark, the number of names, a text, and as many names as fit."""
    ellipsis = terminal.mark("more")
    text = truncate(f" {len(names)} {clean_line(text)}  ", terminal.width - count_cells(mark.text), ellipsis)
    room = terminal.width - count_cells(mark.text) - count_cells(text)
    return (mark, Span(text), Span(truncate(clean_line(", ".join(names)), room, ellipsis), "faint"))


def _common_step_lines(accounts: Mapping[str, AccountEnd], terminal: Terminal) -> list[Line]:
    """Return the manual steps of all accounts, each step once with the number of its accounts."""
    all_steps = [step for end in accounts.values() for step in end.steps]
    counts = Counter((step["id"], step["text"], step.get("url", "")) for step in all_steps)
    steps: list[ManualStep] = [
        {"id": name, "text": text if number == 1 else f"{text} ({number} accounts)", "url": url}
        for (name, text, url), number in counts.items()
    ]
    return [(), *step_lines("Manual steps:", steps, terminal, indent=0)] if steps else []


def describe_totals(
    accounts: Mapping[str, AccountEnd],
    check: bool,
    is_inspection: bool,
    unit: str = Renderer.unit,
    changed_word: str = Renderer.changed_word,
) -> str:
    """Return '60 accounts: 10 changed, 46 unchanged, 1 with nothing to remove, 3 not up to date (3 unreachable)'.

    check: the run was a preview. is_inspection: it changes nothing. unit: the noun for an account, such as "machine".
    changed_word: describes the accounts that were changed.
    """
    counts = Counter(end.state for end in accounts.values())
    failures = [f"{counts[state]} {state}" for state in FAILED_STATES if counts[state]]
    failed, warned = sum(counts[state] for state in FAILED_STATES), sum(end.warned for end in accounts.values())
    # connect is an inspection whose end may be "changed": it has opened a session. warned: counted separately
    unchanged = counts["ok"] + (counts["changed"] if is_inspection else 0) - warned
    parts = [] if is_inspection else [(counts["changed"], "would change" if check else changed_word)]
    parts += [(unchanged, "ready" if is_inspection else "unchanged"), (warned, "ready, with warnings")]
    empty = Counter(end.reason for end in accounts.values() if end.state == "empty")
    parts += [(number, f"with {reason}") for reason, number in empty.items()]
    parts += [(failed, f"{'not ready' if is_inspection else 'not up to date'} ({', '.join(failures)})")]
    text = ", ".join(f"{number} {word}" for number, word in parts if number)
    return f"{len(accounts)} {unit}{'s' if len(accounts) != 1 else ''}: {text or 'nothing to do'}"


def _choose_style(accounts: Mapping[str, AccountEnd]) -> str:
    """Return the style of the totals, as the worst end requires: error, changed, ok, or note if nothing is declared."""
    states = {end.state for end in accounts.values()}
    if states & set(FAILED_STATES):
        return "error"
    if "changed" in states or any(end.warned for end in accounts.values()):
        return "changed"
    return "ok" if states - {"empty"} else "note"


def sandbox_lines(sandboxes: Collection[str], terminal: Terminal) -> list[Line]:
    """Return a sentence with the common folder of the practice accounts (sandboxes), and the way to real ones."""
    if not sandboxes:
        return []
    from .._input.command_line import relative_path  # imported late: few runs need this module

    folders = list(map(relative_path, sandboxes))
    # absolute and relative paths have no common folder
    folder = os.path.commonpath(folders) if len({*map(os.path.isabs, folders)}) == 1 else "sandboxes"
    text = (
        f"Everything is on this machine, in {folder}. To set up real accounts, remove the line 'sandbox: true' from"
        " your accounts file. If you have no file of your own, run: hpc-onboard init"
    )
    return indented_lines(text, 0, terminal)


def _advice_lines(story: Story, view: View, command: str, run_limit: str) -> list[Line]:
    """Return the advice for the next step, and how to see the details of the changes.

    command, run_limit: as in summary_lines().
    """
    accounts, terminal = story.accounts, view.terminal
    failed = [name for name, end in accounts.items() if end.state in FAILED_STATES]
    changed = [name for name, end in accounts.items() if end.state == "changed"]
    lines: list[Line] = []
    if view.detail is Detail.EXCEPTIONS and changed and not story.is_planned:
        lines += indented_lines(f"To see each change, add -v or -l '{changed[0]}'.", 0, terminal, "faint")
    if story.next_command:
        lines += indented_lines("Next step:", 0, terminal) + wrap_command(story.next_command, 2, terminal)
    if story.next_command is not None:
        return lines  # the rotation has chosen the next command
    if failed:
        lines += indented_lines("Fix the problems above, then run:", 0, terminal)
        return lines + wrap_command(command + limit_option(failed, run_limit), 2, terminal)
    if story.is_inspection:
        return lines  # nothing was changed
    if story.sandboxes:
        return lines + sandbox_lines(story.sandboxes, terminal)  # no user logs in to practice accounts
    if changed and not view.check and story.changed_word == Renderer.changed_word:
        only_removed = "extra" in story.statuses and not story.statuses & {"missing", "different"}
        lines += indented_lines(LEAVE_ADVICE if only_removed else LOGIN_ADVICE, 0, terminal, "ok")
    if story.ssh_config:
        lines += indented_lines("To log in with short names, such as 'ssh wilson', run:", 0, terminal)
        lines += wrap_command(story.ssh_config, 2, terminal)
    return lines
