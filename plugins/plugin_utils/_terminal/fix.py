# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of fix.yml: the fixes that are offered, and the result of each one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._text.amounts import count
from .account import Result, View, heading
from .audit import PartRenderer
from .layout import Line, Span, Terminal, indented_lines, labelled_lines, wrap_spans

DEEDS = {  # by the kind of the fix, and for those that take something away by what it is
    "statement_fix": "removes the variable; the rest of the file is unchanged",
    "key_fix": "overwrites the key; the rest of the file is unchanged",
    "access_fix": "other users lose access; nothing else changes",
    "copy": "removes the copy; all its lines are also in the original file",
    "draft": "the draft is removed",
    "link": "the link is removed",
    "tokens": "removes the key store; its program creates it again",
    "cache": "empties the cache; its program fills it again",
}
WORDS = {"ok": "gone", "extra": "fixed", "blocked": "left", "failed": "failed", "unknown": "unknown"}
FORESEEN = {**WORDS, "extra": "to fix"}
STYLES = {"ok": ("=", "ok"), "extra": ("-", "changed")}


class OfferedFixesRenderer(PartRenderer):
    """What is offered."""

    def is_quiet(self, result: Result, view: View) -> bool:
        return "offered" not in result

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        offered = result["offered"]
        if not offered:
            return indented_lines(
                "The last audit found nothing that can be fixed without losing data.", 0, view.terminal
            )
        out: list[Line] = []
        for owner in dict.fromkeys(one["account"] for one in offered):
            out += wrap_spans((Span(owner, "bold"),), view.terminal)
            for one in offered:
                if one["account"] == owner:
                    out += _offered(one, view.terminal)
        return out


def _offered(one: Mapping[str, Any], terminal: Terminal) -> Iterator[Line]:
    """One finding, and what would be done about it."""
    fix = one["auto_fix"]
    yield from labelled_lines("-", one["rule"], "changed", f"{one['place']}: {one['text']}", terminal)
    yield from labelled_lines("", "", "", DEEDS[fix["options"].get("what", fix["kind"])], terminal)


class FixedAccountRenderer(PartRenderer):
    """What came of it on one account, before all are looked at together."""

    def is_quiet(self, result: Result, view: View) -> bool:
        return not result.get("outcomes")

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        words = FORESEEN if view.check else WORDS
        statuses = [one["status"] for one in result["outcomes"]]
        said = ", ".join(f"{statuses.count(one)} {words[one]}" for one in dict.fromkeys(statuses))
        out = heading(name, result, said or count(0, "fix"), view)
        for one in result["outcomes"]:
            mark, style = STYLES.get(one["status"], ("!", "error"))
            out += labelled_lines(mark, words[one["status"]], style, _named(one), view.terminal)
            if one["reason"]:
                out += labelled_lines("", "", "", one["reason"], view.terminal)
        return out


def _named(outcome: Mapping[str, Any]) -> str:
    """Return what was fixed; of a link, its target, so that it can be made again."""
    target = outcome["before"].get("target")
    said = [field for field in outcome["fields"] if field != "holds"]
    fields = f"it pointed to {target}" if target else ", ".join(said)
    return f"{outcome['identity']}: {fields}" if fields else str(outcome["identity"])
