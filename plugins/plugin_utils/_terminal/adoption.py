# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of adopt.yml: existing resources of an account, the choices of the user, and the changed accounts file.

A resource, such as a link or a conda installation, is compared with the settings that would declare it.
Each renderer shows one kind of task result. lines() returns its lines for an account (name) with the options of the
output (view).
"""

from __future__ import annotations

import difflib
import shlex
from collections import Counter

from .._text.amounts import count
from .account import Renderer, Result, View, heading
from .audit import PartRenderer
from .difference import DIFF_STYLES
from .layout import Line, indented_lines, labelled_lines, list_item, sentence_with_command

STYLES = {"equal": ("=", "ok"), "equivalent": ("=", "ok"), "different": ("?", "changed"), "left": ("-", "note")}
"""Relation of an existing resource to the settings -> mark and style. left: hpc-onboard neither uses nor changes it."""


class AdoptAccountRenderer(Renderer):
    """The list of existing resources of an account."""

    is_of_account = False  # a failed account has a result of another kind, which counts the account

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return a heading that counts the resources by relation (see STYLES), and a line for each resource.

        "things" are the resources. "thing" describes one of them, "use" is a sentence about what will be used, and
        "lost" lists the options of srun that hpc-onboard's own script does not support.
        """
        numbers = Counter(thing["relation"] for thing in result["things"])
        counts = ", ".join(f"{numbers[relation]} {relation}" for relation in STYLES if relation in numbers)
        lines = heading(name, result, counts or "no existing resources found", view)
        for thing in result["things"]:
            mark, style = STYLES[thing["relation"]]
            text = thing["thing"] if thing["relation"] == "equal" else f"{thing['thing']}: {thing['use']}"
            text += f"; hpc-onboard's script does not support {' '.join(thing['lost'])}" if thing["lost"] else ""
            lines += labelled_lines(mark, thing["relation"], style, text, view.terminal)
        for text in result["unclear"]:  # sentences about resources that could not be examined
            lines += labelled_lines(mark="", word="left", style="note", text=text, terminal=view.terminal)
        return lines


class AdoptChosenRenderer(PartRenderer):
    """The changes of the accounts file, before the user confirms them."""

    shown = "after"

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the number of undecided differences ("left"), and the changed lines of the accounts file ("file").

        "before" and "after" are its present and its new text; "changed" is True if they differ.
        """
        terminal, lines = view.terminal, list[Line]()
        if result["left"]:
            undecided = count(result["left"], "difference")
            text = (
                f"You have not decided on {undecided}. Run adopt at a terminal, or add --yes to keep your own versions."
            )
            lines += indented_lines(text, 0, terminal, "note")
        if not result["changed"]:
            return [*lines, *indented_lines(f"{result['file']} needs no change.", 0, terminal)]
        lines += indented_lines(f"{result['file']}:", 0, terminal, "bold")
        before, after = (result[key].splitlines() for key in ("before", "after"))
        for line in list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]:  # without the names of the files
            if line[:1] != "@":  # @@ begins a line with line numbers, which the user does not need
                lines += list_item(line[:1], line[1:], 2, terminal, DIFF_STYLES.get(line[:1], "faint"))
        return lines


class AdoptWrittenRenderer(PartRenderer):
    """The message that the accounts file was written, with the next command."""

    shown = "next"

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the message and the next command."""
        written = indented_lines(f"{result['file']} was written. No account was changed.", 0, view.terminal)
        return [*written, *sentence_with_command("Next:", shlex.join(result["next"]), 0, view.terminal)]
