# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of doctor and probe: each check or comparison, its result, and what to do next.

doctor checks this machine. probe compares the facts of a cluster's profile, such as a quota, with an account.
Each renderer shows one kind of task result. lines() returns its lines for an account (name) with the options of the
output (view). is_hidden() returns True if a result is not shown.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .account import AccountEnd, Detail, Renderer, Result, View, heading
from .audit import PartRenderer
from .layout import Line, Terminal, indented_lines, labelled_lines, list_item, sentence_with_command, text_column

if TYPE_CHECKING:
    from .._documents.result import CheckRow, TargetCheck

# result of a comparison or check -> its mark (or the name of a mark of the terminal), and its style
COMPARISONS = {"differs": ("!", "changed"), "not visible": ("-", "note"), "agrees": ("=", "ok")}
CHECKS = {"ok": ("good", "ok"), "warning": ("!", "changed"), "failed": ("bad", "error")}


class ChecksRenderer(Renderer):
    """The base of renderers for results with checks, each with name, status, text and next (the advice).

    An error of Ansible has no checks.
    """

    def find_end(self, result: Result, unreachable: bool = False) -> AccountEnd:
        """Return the end of the account: failed, with the first failed check as reason, or else the usual end.

        unreachable: no task could run on the account. A check with a warning sets `warned`.
        """
        checks = result.get("checks", [])
        failed = next((check for check in checks if check["status"] == "failed"), None)
        if failed and not unreachable:
            return AccountEnd("failed", f"{failed['name']}: {failed['text']}")
        end = super().find_end(result, unreachable)
        has_warning = any(check["status"] == "warning" for check in checks)
        return end._replace(warned=has_warning and end.state in ("ok", "changed"))


class DoctorRenderer(ChecksRenderer):
    """The checks of doctor: one line each, with the command that fixes a problem."""

    unit = "machine"
    is_inspection = True

    def is_hidden(self, result: Result, view: View) -> bool:
        """Return True for a machine without warnings and failures, if the level of detail hides such machines."""
        if "checks" not in result:  # an error of Ansible, which is always shown
            return False
        is_fine = all(check["status"] == "ok" for check in result["checks"])
        # With an empty list of outcomes, the inherited rule depends only on the level of detail.
        return is_fine and super().is_hidden({**result, "outcomes": []}, view)

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return a title with totals, and the checks with their fixes; the inherited lines for an error of Ansible."""
        if "checks" not in result:
            return super().lines(name, result, view)
        terminal = view.terminal
        lines = title_lines(name, result, view)
        for check in select_checks(result, view):
            mark, style = choose_mark(check, terminal)
            lines += labelled_lines(mark, check["status"], style, f"{check['name']}: {check['text']}", terminal)
            if check["status"] != "ok" and check.get("next"):
                lines += indented_lines(check["next"], text_column(terminal), terminal, "bold")
        return lines


def title_lines(name: str, result: Result, view: View) -> list[Line]:
    """Return the line above the checks: the name, and the numbers of checks by status."""
    failed = any(check["status"] == "failed" for check in result["checks"])
    return heading(name, {**result, "failed": failed}, count_checks(result["checks"]), view)


def select_checks(result: Result, view: View) -> list[TargetCheck]:
    """Return the checks to show: all of them, or only warnings and failures if only exceptions are shown."""
    return [check for check in result["checks"] if check["status"] != "ok" or view.detail is not Detail.EXCEPTIONS]


def choose_mark(check: CheckRow, terminal: Terminal) -> tuple[str, str]:
    """Return the mark and the style for the status of a check."""
    mark, style = CHECKS[check["status"]]
    return mark if mark == "!" else terminal.mark(mark), style  # other marks depend on the terminal


def count_checks(checks: Sequence[CheckRow]) -> str:
    """Return the numbers of checks by status: '1 failed, 2 warnings, 5 ok'."""
    counts = {status: sum(check["status"] == status for check in checks) for status in ("failed", "warning", "ok")}
    words = {"failed": "failed", "warning": "warning" if counts["warning"] == 1 else "warnings", "ok": "ok"}
    return ", ".join(f"{number} {words[status]}" for status, number in counts.items() if number) or "nothing to check"


# -- probe -----------------------------------------------------------------------------------------


class ProbeAccountRenderer(Renderer):
    """The facts of a profile that differ from the account, each with the command that shows it; with -v, all facts."""

    is_of_account = False

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return a heading with totals, the differing facts (with -v, all facts), and those not checked ("unclear").

        "says" is the value in the profile. A fact that does not agree is followed by the value on the account ("seen"),
        and by the command that shows this value ("by").
        """
        numbers = Counter(fact["result"] for fact in result["facts"])
        counts = ", ".join(
            f"{numbers[word]} {word if numbers[word] == 1 else word.removesuffix('s')}"  # 1 differs, but 2 differ
            for word in COMPARISONS
            if word in numbers
        )
        lines = heading(name, result, counts or "the profile has no fact that can be checked on an account", view)
        for fact in result["facts"]:
            mark, style = COMPARISONS[fact["result"]]
            if fact["result"] == "differs" or view.detail is Detail.EVERYTHING:
                text = f"{fact['fact']}: {fact['says']}"
                if fact["result"] != "agrees":
                    text += f" in the profile; on the account {fact['seen']} ({fact['by']})"
                lines += labelled_lines(mark, fact["result"], style, text, view.terminal)
        for text in result["unclear"]:
            lines += labelled_lines(mark="", word="not checked", style="note", text=text, terminal=view.terminal)
        return lines


class ProbeWrittenRenderer(PartRenderer):
    """The profiles that were written, each with the facts that changed."""

    def is_hidden(self, result: Result, view: View) -> bool:
        """Return True if no profile was written ("files")."""
        return not result.get("files")

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return each written profile with its changed facts, and the next command."""
        lines: list[Line] = []
        for file, facts in result["files"].items():
            lines += indented_lines(f"{file} was written. No account was changed.", 0, view.terminal)
            for fact in facts:
                lines += list_item("~", fact, 2, view.terminal, "changed")
        return [*lines, *sentence_with_command("Next:", shlex.join(result["next"]), 0, view.terminal)]
