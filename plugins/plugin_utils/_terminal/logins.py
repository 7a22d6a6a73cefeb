# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of logins: of one account, and which accounts can be reached now."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from .._delivery.result import FORESEEN
from .._delivery.result import WORDS as STATUSES
from .._text.amounts import count
from .account import Renderer, Result, View, heading
from .audit import PartRenderer
from .difference import difference
from .layout import Line, Span, command, indented_lines, labelled_lines, table_row

WORDS = {
    "unasked": "ssh does not ask for anything",
    "each_time": "connected; ssh asks again in each run, because the site forbids open sessions",
    "open": "a session is open",
    "opened": "a session is open now, for later runs too",
    "entered": "connected",
    "renewed": "the certificate or ticket is renewed",
    "closed": "needs an interactive login",
    "ended": "expired",
    "refused": "login refused",
}


STATES = {  # state of a preflight -> its text; the worst last
    "open": "reachable",
    "needs_person": "needs an interactive login",
    "ended": "expired",
    "refused": "key refused",
    "host_key_unknown": "host key unknown",
    "host_key_changed": "HOST KEY CHANGED",
    "unresolved": "unknown host name",
    "unreachable": "unreachable",
    "dropped": "connection dropped",
    "not_ready": "not ready",
}


class LoginRenderer(Renderer):
    """The login to one account."""

    is_look = True

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        word = WORDS.get(str(result.get("state")), "no session")
        lines = heading(name, {**result, "failed": "msg" in result}, word, view)
        why = str(result.get("msg") or "").removeprefix(f"{word}: ")
        return [*lines, *(indented_lines(why, 4, view.terminal) if why else [])]


class EarlyLoginRenderer(LoginRenderer):
    """The login to one account before the work: nothing if the user was not asked."""

    is_of_account = False
    is_look = False

    def is_quiet(self, result: Result, view: View) -> bool:
        return result.get("state") not in ("opened", "each_time", "renewed")  # the work reports why there is no login


class ScriptExportedRenderer(Renderer):
    """The script for an account that no program may enter, and the commands to run it."""

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        terminal, file = view.terminal, str(result["file"])
        lines = heading(name, result, f"wrote {file}", view)
        keys = ", ".join(result["questions"])
        asks = f"It asks for {keys}; your input is hidden." if keys else "It asks for no key."
        lines += indented_lines(f"The script contains no keys. {asks} Copy it to the account and run it:", 4, terminal)
        *options, target = shlex.split(str(result["ssh_target"]))
        lines += command(f"scp {shlex.join([*options, file, target])}:", 4, terminal)
        lines += command(f"ssh -t {result['typed']} python3 {shlex.quote(PurePath(file).name)}", 4, terminal)
        lines += indented_lines(
            "The script then prints the commands that import its result. For more, run it with --help.", 4, terminal
        )
        for note in result["notes"]:
            lines += labelled_lines("", "skipped", "note", f"{note['capability']}: {note['text']}", terminal)
        return lines


class ResultImportedRenderer(Renderer):
    """An account as the result of a script shows it."""

    def next_command(self, result: Result) -> str | None:
        return ""  # the same result is not imported again


class PreflightRenderer(PartRenderer):
    """The accounts that can be reached now, and what to do about the others."""

    def is_quiet(self, result: Result, view: View) -> bool:
        return "accounts" not in result

    def error(self, result: Result) -> str:
        return "" if "accounts" in result else super().error(result)

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        rows, terminal = result["accounts"], view.terminal
        lines: list[Line] = []
        for row in sorted(rows, key=lambda one: list(STATES).index(one["state"])):
            is_open = row["state"] == "open"
            mark, style = (terminal.mark("good"), "ok") if is_open else (terminal.mark("bad"), "error")
            lines.append(
                (Span(mark, style), Span(" "), Span(row["name"], "bold"), Span(f"  {STATES[row['state']]}", style))
            )
            for text in filter(None, (row["text"], row["next"])):
                lines += indented_lines(text.removeprefix(f"{STATES[row['state']]}: "), 4, terminal)
        shut = sum(row["state"] != "open" for row in rows)
        said = f"{count(len(rows), 'account')}: {len(rows) - shut} reachable" + (f", {shut} not" if shut else "")
        return [*lines, (), (Span(said, "error" if shut else "ok"),)]


WRITTEN = {**STATUSES, "missing": "written"}
TO_WRITE = {**WRITTEN, **FORESEEN, "missing": "to write"}


class SshConfigRenderer(PartRenderer):
    """The names, and the difference in the files where it is for a person to judge."""

    def is_quiet(self, result: Result, view: View) -> bool:
        return "outcome" not in result or (result["foreseen"] and not result["changed"] and not view.check)

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        outcome, terminal = result["outcome"], view.terminal
        words = TO_WRITE if result["foreseen"] else WRITTEN
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
