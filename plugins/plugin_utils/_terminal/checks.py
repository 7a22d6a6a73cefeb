# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a doctor found, in lines for a person: what was looked at, how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .account import AccountEnd, Detail, Renderer, Result, View, heading
from .layout import Line, Terminal, indented_lines, labelled_lines

if TYPE_CHECKING:
    from .._documents.result import CheckRow, TargetCheck

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
    """How many checks failed, warn and are fine, in words."""
    counts = {status: sum(check["status"] == status for check in found) for status in ("failed", "warning", "ok")}
    words = {"failed": "failed", "warning": "warning" if counts["warning"] == 1 else "warnings", "ok": "ok"}
    return ", ".join(f"{number} {words[status]}" for status, number in counts.items() if number) or "nothing to check"
