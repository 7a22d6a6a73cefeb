# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of accounts for ssh in lines for a person: which there are, and what is, or would be, written."""

from __future__ import annotations

from .._delivery.result import FORESEEN, WORDS
from .account import Result, View, heading
from .audit import PartRenderer
from .difference import difference
from .layout import Line, table_row

SAID = {**WORDS, "missing": "written"}
TO_SAY = {**SAID, **FORESEEN, "missing": "to write"}


class SshConfigRenderer(PartRenderer):
    """The names, and the difference in the files where it is for a person to judge."""

    def is_quiet(self, result: Result, view: View) -> bool:
        return "outcome" not in result or (result["foreseen"] and not result["changed"] and not view.check)

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        outcome, terminal = result["outcome"], view.terminal
        words = TO_SAY if result["foreseen"] else SAID
        lines = heading(
            outcome["identity"],
            {**result, "outcomes": [outcome]},
            words[outcome["status"]],
            view._replace(check=result["foreseen"]),
        )
        if result["foreseen"] or "diff" in result:
            lines += difference(outcome["before"], outcome["after"], terminal, every=True)
        commands = {one["account"]: f"ssh {one['name']}" if one["name"] else "" for one in result["names"]}
        column = max(map(len, commands.values()), default=0)
        for one in result["names"]:
            mark, style = ("!", "note") if one["text"] else ("=", "ok")
            text = f"{one['account']} {one['text']}".rstrip()
            lines += table_row(mark, style, commands[one["account"]], text, column, terminal)
        return lines
