# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of doctor and probe: what was checked or compared, the result, and what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .account import AccountEnd, Detail, Renderer, Result, View, heading
from .audit import PartRenderer
from .layout import Line, Terminal, indented_lines, labelled_lines, list_item, with_command

if TYPE_CHECKING:
    from .._documents.result import CheckRow, TargetCheck

COMPARISONS = {"differs": ("!", "changed"), "not visible": ("-", "note"), "agrees": ("=", "ok")}
CHECKS = {"ok": ("good", "ok"), "warning": ("!", "changed"), "failed": ("bad", "error")}


class ChecksRenderer(Renderer):
    """A result that consists of checks {name, status, text, next}; one without any is that of an error of Ansible's."""

    def find_end(self, result: Result, unreachable: bool = False) -> AccountEnd:
        checks = result.get("checks", [])
        bad = next((check for check in checks if check["status"] == "failed"), None)
        if unreachable or bad is None:
            end = super().find_end(result, unreachable)
            return end._replace(
                warned=end.state in ("ok", "changed") and any(one["status"] == "warning" for one in checks)
            )
        return AccountEnd("failed", f"{bad['name']}: {bad['text']}")


class DoctorRenderer(ChecksRenderer):
    """What a doctor found: one line for each check, and the next command where something is to be done."""

    counts = "machine"
    is_look = True

    def is_quiet(self, result: Result, view: View) -> bool:
        fine = all(check["status"] == "ok" for check in result.get("checks", [{"status": ""}]))
        return fine and super().is_quiet({**result, "outcomes": []}, view)

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        if "checks" not in result:
            return super().lines(name, result, view, like)
        terminal = view.terminal
        lines = title(name, result, view)
        for check in shown(result, view):
            mark, style = marked(check, terminal)
            lines += labelled_lines(mark, check["status"], style, f"{check['name']}: {check['text']}", terminal)
            if check["status"] != "ok" and check.get("next"):
                lines += indented_lines(check["next"], 6 if terminal.width < 60 else 17, terminal, "bold")
        return lines


def title(name: str, result: Result, view: View) -> list[Line]:
    """The line above the checks."""
    failed = any(check["status"] == "failed" for check in result["checks"])
    return heading(name, {**result, "failed": failed}, verdict(result["checks"]), view)


def shown(result: Result, view: View) -> list[TargetCheck]:
    """The checks that are told: where little is said, those that are not well."""
    return [check for check in result["checks"] if check["status"] != "ok" or view.detail is not Detail.EXCEPTIONS]


def marked(check: CheckRow, terminal: Terminal) -> tuple[str, str]:
    """The mark of a check, and its style."""
    mark, style = CHECKS[check["status"]]
    return mark if mark == "!" else terminal.mark(mark), style


def verdict(found: Sequence[CheckRow]) -> str:
    """Return how many checks failed, warn and are fine, in words."""
    counts = {status: sum(check["status"] == status for check in found) for status in ("failed", "warning", "ok")}
    words = {"failed": "failed", "warning": "warning" if counts["warning"] == 1 else "warnings", "ok": "ok"}
    return ", ".join(f"{number} {words[status]}" for status, number in counts.items() if number) or "nothing to check"


# -- probe -----------------------------------------------------------------------------------------


class ProbeAccountRenderer(Renderer):
    """The facts that differ, each with the command that shows it; with -v all others, too."""

    is_of_account = False

    def is_quiet(self, result: Result, view: View) -> bool:
        return False

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        results = [one["result"] for one in result["facts"]]
        numbers = {one: results.count(one) for one in COMPARISONS if one in results}
        counts = ", ".join(
            f"{number} {one if number == 1 else one.removesuffix('s')}" for one, number in numbers.items()
        )
        lines = heading(name, result, counts or "its profile has no fact that can be checked on an account", view)
        for one in result["facts"]:
            mark, style = COMPARISONS[one["result"]]
            if one["result"] == "differs" or view.detail is Detail.EVERYTHING:
                text = f"{one['fact']}: {one['says']}"
                if one["result"] != "agrees":
                    text += f" in the profile; on the account {one['seen']} ({one['by']})"
                lines += labelled_lines(mark, one["result"], style, text, view.terminal)
        for text in result["unclear"]:
            lines += labelled_lines("", "not checked", "note", text, view.terminal)
        return lines


class ProbeWrittenRenderer(PartRenderer):
    """The profiles that were written, with the facts that changed."""

    def is_quiet(self, result: Result, view: View) -> bool:
        return not result.get("files")

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        lines: list[Line] = []
        for file, facts in result["files"].items():
            lines += indented_lines(f"{file} is written. No account was changed.", 0, view.terminal)
            for fact in facts:
                lines += list_item("~", fact, 2, view.terminal, "changed")
        return [*lines, *with_command("Next:", shlex.join(result["next"]), 0, view.terminal)]
