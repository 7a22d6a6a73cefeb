# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of fix.yml: the offered fixes, and the result of each.

A finding is a problem that the last audit has found on an account. Its rule names the problem, and its place is a file
or a setting. A fix changes or removes one resource; the outcome of the resource has a status (see WORDS).

Each renderer shows one kind of task result. lines() returns its lines for an account (name) with the options of the
output (view). is_hidden() returns True if a result is not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from .account import Result, View, heading
from .audit import PartRenderer
from .layout import Line, Span, Terminal, indented_lines, labelled_lines, lines_below_label, wrap_spans

EFFECTS = {  # the option "what" of a fix (what it removes), or the kind of a fix without this option -> its effect
    "statement_fix": "removes the variable; the rest of the file is unchanged",
    "key_fix": "overwrites the key; the rest of the file is unchanged",
    "access_fix": "removes other users' access; nothing else changes",
    "copy": "removes the copy; all its lines are also in the original file",
    "draft": "removes the draft",
    "link": "removes the link",
    "tokens": "removes the key store; the program that uses it creates a new one",
    "cache": "empties the cache; the program that uses it fills it again",
}
# status of the resource of a fix -> word after the run; ok: the problem had already disappeared
WORDS = {"ok": "gone", "extra": "fixed", "blocked": "left", "failed": "failed", "unknown": "unknown"}
PLANNED_FIXES = {**WORDS, "extra": "to fix"}
STYLES = {"ok": ("=", "ok"), "extra": ("-", "changed")}


class OfferedFixesRenderer(PartRenderer):
    """The fixes of all accounts, before the user confirms them."""

    shown = "offered"

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the offered fixes below the name of their account."""
        offered = result["offered"]
        if not offered:
            return indented_lines(
                "The last audit found nothing that can be fixed without losing data.", 0, view.terminal
            )
        lines: list[Line] = []
        for account in dict.fromkeys(finding["account"] for finding in offered):
            lines += wrap_spans((Span(account, "bold"),), view.terminal)
            for finding in offered:
                if finding["account"] == account:
                    lines += _offer_lines(finding, view.terminal)
        return lines


def _offer_lines(finding: Mapping[str, Any], terminal: Terminal) -> Iterator[Line]:
    """Yield the lines of a finding: rule, place and text, and below them the effect of its fix."""
    fix = finding["auto_fix"]
    yield from labelled_lines("-", finding["rule"], "changed", f"{finding['place']}: {finding['text']}", terminal)
    yield from lines_below_label(EFFECTS[fix["options"].get("what", fix["kind"])], terminal)


class FixedAccountRenderer(PartRenderer):
    """The results of the fixes on one account, or their preview."""

    def is_hidden(self, result: Result, view: View) -> bool:
        """Return True if no fix was tried on the account."""
        return not result.get("outcomes")

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return a heading with totals, and each fix with the reason if it failed."""
        words = PLANNED_FIXES if view.check else WORDS
        numbers = Counter(outcome["status"] for outcome in result["outcomes"])
        text = ", ".join(f"{number} {words[status]}" for status, number in numbers.items())
        lines = heading(name, result, text, view)
        for outcome in result["outcomes"]:
            mark, style = STYLES.get(outcome["status"], ("!", "error"))
            lines += labelled_lines(mark, words[outcome["status"]], style, _describe_fixed(outcome), view.terminal)
            if outcome["reason"]:
                lines += lines_below_label(outcome["reason"], view.terminal)
        return lines


def _describe_fixed(outcome: Mapping[str, Any]) -> str:
    """Return the resource of a fix with its changed fields; a link with its target, so that the user can restore it."""
    target = outcome["before"].get("target")
    # The field "removed content" is a fingerprint or a list of names, which the user need not read.
    fields = [field for field in outcome["fields"] if field != "removed content"]
    text = f"pointed to {target}" if target else ", ".join(fields)
    return f"{outcome['identity']}: {text}" if text else str(outcome["identity"])
