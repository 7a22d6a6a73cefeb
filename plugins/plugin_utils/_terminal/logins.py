# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of logins, of preflight, of exported scripts, and of the entries for ssh.

preflight checks to which accounts hpc-onboard can log in now. An exported script sets up an account without a login of
hpc-onboard. An entry in the settings of ssh gives an account a short name.

Each renderer shows one kind of task result. lines() returns its lines for an account (name) with the options of the
output (view). is_hidden() returns True if a result is not shown.
"""

from __future__ import annotations

import shlex
from pathlib import PurePath

from .._delivery.result import PLANNED, WORDS
from .._text.amounts import count
from .account import Renderer, Result, View, heading
from .audit import PartRenderer
from .difference import difference_lines
from .layout import Line, Span, indented_lines, labelled_lines, table_row, wrap_command

LOGIN_STATES = {  # state of a login -> its text
    "unasked": "this account needs no login over ssh",
    "each_time": "connected; ssh asks again in each run, because the site forbids open sessions",
    "open": "a session is open",
    "opened": "opened a session that later runs can reuse",
    "entered": "connected",
    "renewed": "the certificate or ticket was renewed",
    "closed": "needs an interactive login",
    "ended": "expired",
    "refused": "not ready",
}


PREFLIGHT_STATES = {  # state of an account in preflight -> its text; the worst last
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

    is_inspection = True

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the state of the login, and below it the reason for a failure."""
        state = LOGIN_STATES.get(str(result.get("state")), "no session")
        lines = heading(name, {**result, "failed": "msg" in result}, state, view)  # msg: why the login failed
        reason = str(result.get("msg") or "").removeprefix(f"{state}: ")  # the heading shows the state
        return [*lines, *(indented_lines(reason, 4, view.terminal) if reason else [])]


class EarlyLoginRenderer(LoginRenderer):
    """The login to one account at the start of a run, shown only if the user had to enter something."""

    is_of_account = False
    is_inspection = False

    def is_hidden(self, result: Result, view: View) -> bool:
        """Return True unless the user has entered something, as in these states. A later task reports failed logins."""
        return result.get("state") not in ("opened", "each_time", "renewed")


class ScriptExportedRenderer(Renderer):
    """The exported script, and the commands to run it."""

    changed_word = "exported"  # the script is on this machine; the account is unchanged

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the file of the script, and the commands that copy and run it.

        "questions" are the keys that the script asks for, "ssh_target" the arguments of scp, "typed" those of ssh.
        """
        terminal, file = view.terminal, str(result["file"])
        lines = heading(name, result, f"wrote {file}", view)
        keys = ", ".join(result["questions"])
        prompts = (
            f"The script prompts for {keys} and hides your input." if keys else "The script does not ask for keys."
        )
        lines += indented_lines(
            f"The script contains no keys. {prompts} Copy the script to the account and run it:", 4, terminal
        )
        *options, target = shlex.split(str(result["ssh_target"]))
        # with a colon: into the home directory
        lines += wrap_command(f"scp {shlex.join([*options, file, target])}:", 4, terminal)
        lines += wrap_command(f"ssh -t {result['typed']} python3 {shlex.quote(PurePath(file).name)}", 4, terminal)
        lines += indented_lines(
            "The script then prints the commands that import its result. For its options, run the script with --help.",
            4,
            terminal,
        )
        for note in result["notes"]:
            text = f"{note['capability']}: {note['text']}"  # a role, and why it skipped something
            lines += labelled_lines(mark="", word="skipped", style="note", text=text, terminal=terminal)
        return lines


class ResultImportedRenderer(Renderer):
    """An account, as the result of a script shows it."""

    def next_command(self, result: Result) -> str | None:
        """Return "": with None, the last lines of the run would suggest to import the same result again."""
        return ""


class PreflightRenderer(PartRenderer):
    """The accounts that can be reached now, and what to do about the others."""

    shown = "accounts"

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the totals, and the state of each account, the reachable ones first, with reason and advice (next)."""
        rows, terminal = result["accounts"], view.terminal
        lines: list[Line] = []
        for row in sorted(rows, key=lambda row: list(PREFLIGHT_STATES).index(row["state"])):
            state = PREFLIGHT_STATES[row["state"]]
            is_open = row["state"] == "open"
            mark, style = (terminal.mark("good"), "ok") if is_open else (terminal.mark("bad"), "error")
            lines.append((Span(mark, style), Span(" "), Span(row["name"], "bold"), Span(f"  {state}", style)))
            for text in filter(None, (row["text"], row["next"])):
                lines += indented_lines(text.removeprefix(f"{state}: "), 4, terminal)  # without repeating the state
        unreachable = sum(row["state"] != "open" for row in rows)
        total = f"{count(len(rows), 'account')}: {len(rows) - unreachable} reachable"
        total += f", {unreachable} not reachable" if unreachable else ""
        return [*lines, (), (Span(total, "error" if unreachable else "ok"),)]


# status of the outcome of the file -> its word after the change, and in a preview
WRITTEN = {**WORDS, "missing": "written"}
TO_WRITE = {**WRITTEN, **PLANNED, "missing": "to write"}


class SshConfigRenderer(PartRenderer):
    """The entries for ssh: the changes of the file if the user must confirm them, and the name of each account."""

    def is_hidden(self, result: Result, view: View) -> bool:
        """Return True for a result without the outcome of the file, and for a preview ("previewed") without changes."""
        if "outcome" not in result:
            return True
        is_empty_preview = result["previewed"] and not result["changed"]  # the user need not confirm anything
        return is_empty_preview and not view.check  # in check mode, no later result is shown

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the change of the file and the ssh command of each account; a preview also shows the changed lines.

        The text of an account says why it has no name, or why the name connects to a different host.
        """
        outcome, terminal = result["outcome"], view.terminal
        words = TO_WRITE if result["previewed"] else WRITTEN
        lines = heading(
            outcome["identity"],
            {**result, "outcomes": [outcome]},
            words[outcome["status"]],
            view._replace(check=result["previewed"]),
        )
        if result["previewed"] or "diff" in result:
            lines += difference_lines(outcome["before"], outcome["after"], terminal, every=True)
        commands = {row["account"]: f"ssh {row['name']}" if row["name"] else "" for row in result["names"]}
        column = max(map(len, commands.values()), default=0)
        for row in result["names"]:
            mark, style = ("!", "note") if row["text"] else ("=", "ok")
            text = f"{row['account']} {row['text']}".rstrip()
            lines += table_row(mark, style, commands[row["account"]], text, column, terminal)
        return lines
