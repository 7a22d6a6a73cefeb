# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of adopt.yml: what an account has already, what is used from now on, and the changed accounts file."""

from __future__ import annotations

import difflib
import shlex

from .._text.amounts import count
from .account import Renderer, Result, View, heading
from .audit import PartRenderer
from .layout import Line, indented_lines, labelled_lines, list_item, with_command

STYLES = {"equal": ("=", "ok"), "equivalent": ("=", "ok"), "different": ("?", "changed"), "left": ("-", "note")}
"""The mark and the style of each relation."""


class AdoptAccountRenderer(Renderer):
    """One list for each account."""

    is_of_account = False  # of an account that cannot be looked at, another result tells

    def is_quiet(self, result: Result, view: View) -> bool:
        return False

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        things = result["things"]
        relations = [one["relation"] for one in things]
        counts = ", ".join(f"{relations.count(one)} {one}" for one in STYLES if one in relations)
        lines = heading(name, result, counts or "nothing found that hpc-onboard could use", view)
        for one in things:
            mark, style = STYLES[one["relation"]]
            text = one["thing"] if one["relation"] == "equal" else f"{one['thing']}: {one['use']}"
            text += f"; if it is replaced, you lose {' '.join(one['lost'])}" if one["lost"] else ""
            lines += labelled_lines(mark, one["relation"], style, text, view.terminal)
        for text in result["unclear"]:
            lines += labelled_lines("", "left", "note", text, view.terminal)
        return lines


class AdoptChosenRenderer(PartRenderer):
    """The change of the accounts file, before the user is asked."""

    def is_quiet(self, result: Result, view: View) -> bool:
        return "after" not in result

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        terminal, out = view.terminal, list[Line]()
        if result["left"]:
            text = (
                f"{count(result['left'], 'difference')} left to decide: run this at a terminal, or use --yes to keep "
                f"your own."
            )
            out += indented_lines(text, 0, terminal, "note")
        if not result["changed"]:
            return [*out, *indented_lines(f"{result['file']} needs no change.", 0, terminal)]
        out += indented_lines(f"{result['file']}:", 0, terminal, "bold")
        before, after = (result[name].splitlines() for name in ("before", "after"))
        for line in list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]:
            style = {"+": "added", "-": "removed"}.get(line[:1], "faint")
            out += list_item(line[:1], line[1:], 2, terminal, style) if line[:1] != "@" else []
        return out


class AdoptWrittenRenderer(PartRenderer):
    """What was written, and the next command."""

    def is_quiet(self, result: Result, view: View) -> bool:
        return "next" not in result

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        written = indented_lines(f"{result['file']} is written. No account was changed.", 0, view.terminal)
        return [*written, *with_command("Next:", shlex.join(result["next"]), 0, view.terminal)]
