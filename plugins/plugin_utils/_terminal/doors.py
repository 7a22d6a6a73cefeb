# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A door that was opened, or was not, in lines for a person."""

from __future__ import annotations

from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.account import Renderer, Result, View, heading
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Line, indented

WORDS = {
    "unasked": "nobody is asked for anything",
    "open": "a session is open",
    "opened": "a session is open now, and stays for later runs",
    "closed": "needs a person",
    "refused": "not let in",
}


class Door(Renderer):
    """The way into one account."""

    is_look = True

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        word = WORDS.get(str(result.get("state")), "no session")
        lines = heading(name, {**result, "failed": "msg" in result}, word, view)
        return [*lines, *(indented(str(result["msg"]), 4, view.look) if result.get("msg") else [])]


class Ahead(Door):
    """The way into one account before work: what came of asking a person, and nothing where nobody was asked."""

    is_of_account = False
    is_look = False

    def is_quiet(self, result: Result, view: View) -> bool:
        return result.get("state") not in ("opened", "refused")
