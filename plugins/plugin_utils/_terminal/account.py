# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What came of one account, in lines for a person: pure functions from a result to text of a given width."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from .._delivery.result import CHANGES, FAILURES, FORESEEN, WORDS, count_statuses, name_keys
from .layout import Line, Span, Terminal, aligned_line, indented_lines, labelled_lines, list_item, with_command

if TYPE_CHECKING:
    from .._documents.outcome import Progress, ResourceOutcome
    from .._documents.result import Introduction, ManualStep

Result = Mapping[str, Any]
"""What Ansible hands on of a task: one of _documents/result.py with Ansible's own members, or an error of Ansible's."""

STYLES = {
    "ok": ("=", "ok"),
    "missing": ("+", "changed"),
    "different": ("~", "changed"),
    "extra": ("-", "changed"),
    "blocked": ("!", "error"),
    "failed": ("!", "error"),
    "unknown": ("?", "error"),
}
BAD = ("unreachable", "failed")
PLANNED = ("account", "offboard_shown")  # kinds of results of which a preview is a plan
MANY = 10  # accounts; of more than this, a user wants the exceptions


class AccountEnd(NamedTuple):
    """How an account ended: empty, ok, changed, failed or unreachable; and its first reason, unless ok or changed.

    empty: it was reached, and the run was about no thing there. steps: what a person must do for it.
    """

    state: str
    reason: str = ""
    steps: tuple[ManualStep, ...] = ()
    warned: bool = False


class Detail(Enum):
    """How much is said of an account."""

    EXCEPTIONS = 1
    CHANGES = 2
    EVERYTHING = 3


class View(NamedTuple):
    """How results are shown."""

    terminal: Terminal = Terminal()
    check: bool = False
    detail: Detail = Detail.CHANGES


def detail_of(accounts: int, verbosity: int, diff: bool) -> Detail:
    """Return how much to say: all of it when asked for, and with many accounts what went wrong."""
    if verbosity > 0:
        return Detail.EVERYTHING
    return Detail.EXCEPTIONS if accounts > MANY and not diff else Detail.CHANGES


def _reason(result: Result) -> str:
    for outcome in result.get("outcomes", []):
        if outcome["status"] in FAILURES:
            return f"{outcome['identity']}: {outcome['reason'] or outcome['status']}"
    return str(result.get("msg", ""))


def worst(first: AccountEnd | None, then: AccountEnd) -> AccountEnd:
    """Return how an account ended after several tasks: the first failure stays, and one change is enough."""
    order = ("empty", "ok", "changed", "failed", "unreachable")
    return max(filter(None, (first, then)), key=lambda end: order.index(end.state))


class Renderer:
    """How the results of one kind are shown, and what they count for: here of an account that is set up or taken out.

    For each other kind there is one that says what differs (see renderers below).
    """

    is_of_account = True
    """Whether it counts among the accounts in the last lines."""
    counts = "account"
    """What the last lines say how many there were of."""
    is_look = False
    """Whether nothing was to be changed: an account is ready then, and not up to date."""
    is_judged_later = False
    """Whether a later task judges all accounts together: a failure that Ansible is to ignore is one all the same."""
    tells_skips = True

    def find_end(self, result: Result, unreachable: bool = False) -> AccountEnd:
        """Return how the account ended."""
        steps_left = tuple(result.get("human_steps", []))
        if result.get("failed") and not unreachable:
            return AccountEnd("failed", _reason(result), steps_left)
        if unreachable or result.get("outcomes") == []:
            return AccountEnd("unreachable" if unreachable else "empty", str(result.get("msg", "")), steps_left)
        return AccountEnd("changed" if result.get("changed") else "ok", "", steps_left)

    def kept(self, first: AccountEnd | None, then: AccountEnd) -> AccountEnd:
        """Return how an account ended that had a result before."""
        return worst(first, then)

    def is_planned(self, result: Result, view: View) -> bool:
        """Return True for a preview that is shown together with those of all other accounts."""
        is_brief = view.check and view.detail is not Detail.EVERYTHING and "diff" not in result
        return is_brief and "outcomes" in result and result.get("kind") in PLANNED

    def is_quiet(self, result: Result, view: View) -> bool:
        """Return True if there is nothing to say of this account by itself: among many, one that is up to date."""
        if view.detail is not Detail.EXCEPTIONS or result.get("failed") or result.get("unreachable"):
            return False
        return all(outcome["status"] == "ok" for outcome in result.get("outcomes", [{"status": ""}]))

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        """Return what came of it. like: an account that failed for the same reason, which need not be told again."""
        return account(name, result, view, like)

    def error(self, result: Result) -> str:
        """Return what is told as an error of Ansible's, since it is about no account; usually nothing."""
        return ""

    def next_command(self, result: Result) -> str | None:
        """The command that goes on, empty where nothing is left to do; None where the last lines find it themselves."""
        return None


KINDS = {  # of the results of our actions that say none, since Ansible failed or skipped the task itself
    **dict.fromkeys(("hpc.onboard.converge", "hpc.onboard.offboard"), "account"),
    "hpc.onboard.test_job": "test_job_account",
    "hpc.onboard.doctor": "doctor",
    "hpc.onboard.rotate": "rotation_share",
    "hpc.onboard.audit": "audit_settings",
    "hpc.onboard.fix": "fix_shown",
    **dict.fromkeys(("hpc.onboard.adopt", "hpc.onboard.probe"), "account"),
    "hpc.onboard.connect": "login",
    "hpc.onboard.preflight": "preflight_settings",
    "hpc.onboard.ssh_config": "ssh_config_part",
    "hpc.onboard.export_script": "account",
    "hpc.onboard.import_result": "result_imported",
}
REQUIRES_ACCOUNTS = "/internal/require_accounts.yml:"
"""Part of the path of the play that the playbooks begin with, and of its task; it is shown only when it fails."""
RENDERERS = {  # for each kind that a result names, its class, in the file of this room that it is loaded with
    **dict.fromkeys(
        ("preflight_settings", "preflight_account", "test_job_settings", "fix_asked"), "audit.PartRenderer"
    ),
    **dict.fromkeys(("audit_settings", "audit_account", "offboard_part", "ssh_config_part"), "audit.PartRenderer"),
    **dict.fromkeys(("adopt_part", "probe_part"), "audit.PartRenderer"),
    "doctor": "checks.DoctorRenderer",
    "login": "logins.LoginRenderer",
    "login_before": "logins.EarlyLoginRenderer",
    "preflight_report": "logins.PreflightRenderer",
    "rotation_lead": "rotation.RotationLeadRenderer",
    "rotation_share": "rotation.RotationShareRenderer",
    "audit_report": "audit.AuditRenderer",
    "fix_shown": "fix.OfferedFixesRenderer",
    "fix_account": "fix.FixedAccountRenderer",
    "adopt_account": "adoption.AdoptAccountRenderer",
    "adopt_chosen": "adoption.AdoptChosenRenderer",
    "adopt_written": "adoption.AdoptWrittenRenderer",
    "probe_account": "checks.ProbeAccountRenderer",
    "probe_written": "checks.ProbeWrittenRenderer",
    "offboard_shown": "audit.OffboardPlanRenderer",
    "ssh_config": "logins.SshConfigRenderer",
    "script_exported": "logins.ScriptExportedRenderer",
    "result_imported": "logins.ResultImportedRenderer",
    "test_job_account": "audit.TestJobRenderer",
    "test_job_report": "audit.TestJobsRenderer",
}


def renderer(kind: str) -> Renderer:
    """Return what shows the results of this kind; most runs have no other than those of accounts."""
    if kind not in RENDERERS:
        return Renderer()
    file, _dot, name = RENDERERS[kind].partition(".")
    found: Renderer = getattr(import_module(f"{__package__}.{file}"), name)()
    return found


def account(name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
    """What came of one account: a heading, then what changed or failed and why, notes, and what a person must do."""
    if "outcomes" not in result:
        return _without_outcomes(name, result, view, like)
    text = count_statuses(result["outcomes"], view.check) or str(result.get("msg") or "nothing to do")
    lines = heading(name, result, text, view)
    for outcome in name_keys(result["outcomes"], result.get("keys", {})):
        if _shown(outcome, view.detail):
            lines += _outcome(outcome, view, "diff" in result)
    if view.detail is not Detail.EXCEPTIONS:
        for word, said in (("skipped", result.get("notes", [])), ("note", result.get("remarks", []))):
            for one in said:
                lines += labelled_lines("", word, "note", f"{one['capability']}: {one['text']}", view.terminal)
        if "adoption" in result:
            from .difference import offer_lines  # few accounts have such things

            lines += offer_lines({name: result["adoption"]}, 4, view.terminal)
        lines += steps("Manual steps:", result.get("human_steps", []), view.terminal)
        if "introduction" in result:
            lines += _introduction(result["introduction"], view.terminal)
    return lines


def _shown(outcome: ResourceOutcome, detail: Detail) -> bool:
    is_change = detail is Detail.CHANGES and outcome["status"] in CHANGES
    return is_change or detail is Detail.EVERYTHING or outcome["status"] in FAILURES


def _without_outcomes(name: str, result: Result, view: View, like: str | None) -> list[Line]:
    """An account that could not be reached, or whose settings are wrong."""
    state = "unreachable" if result.get("unreachable") else "failed"
    if like:
        return heading(name, {**result, "failed": True}, f"{state}, as {like}", view)
    lines = heading(name, {**result, "failed": True}, state, view)
    lines += indented_lines(str(result.get("msg") or result.get("censored") or "no reason was given"), 4, view.terminal)
    if result.get("exception"):
        lines += indented_lines("To see where this error comes from, add -vvv.", 4, view.terminal, "faint")
    if view.detail is not Detail.EXCEPTIONS:
        lines += steps("Needed before the first login:", result.get("human_steps", []), view.terminal)
    return lines


def heading(name: str, result: Result, text: str, view: View) -> list[Line]:
    """The line that an account's begin with."""
    statuses = {outcome["status"] for outcome in result.get("outcomes", [])}
    style = "error" if result.get("failed") or statuses & set(FAILURES) else "ok"
    style = "changed" if style == "ok" and statuses & set(CHANGES) else style
    style = "note" if style == "ok" and result.get("outcomes") == [] else style
    good = view.terminal.mark("good")
    mark = {"error": view.terminal.mark("bad"), "changed": "~" if view.check else good, "note": "-"}.get(style, good)
    right = ["sandbox"] if result.get("sandbox") else []
    right += [f"{result['seconds']:.1f} s".rjust(6)] if "seconds" in result else []
    first = Span(mark, "ok" if mark == good else style)
    return aligned_line(
        (first, Span(" "), Span(name, "bold"), Span("  "), Span(text, style)), "  ".join(right), view.terminal
    )


def _introduction(known: Introduction, terminal: Terminal) -> list[Line]:
    """Return three lines: where things are, the manual steps that are left, and the next command."""
    places = f"Your folders and scripts: {', '.join(known['places'])}. " if known["places"] else ""
    lines = with_command(f"{places}Rules of the site:", shlex.join(known["command"]), 4, terminal)
    if known["steps"]:
        lines += with_command(f"Manual steps left: {len(known['steps'])}.", shlex.join(known["done"]), 4, terminal)
    else:
        lines += indented_lines("Manual steps left: none.", 4, terminal, "faint")
    return lines + with_command("Next:", shlex.join(known["next"]), 4, terminal)


def _outcome(outcome: ResourceOutcome, view: View, with_diff: bool) -> Iterator[Line]:
    status = outcome["status"]
    word = FORESEEN.get(status, WORDS[status]) if view.check else WORDS[status]
    mark, style = STYLES[status]
    size = outcome["before"].get("size") if status in CHANGES else ""
    text = outcome["identity"] + (f", {size}" if size else "")
    if outcome["after"].get("target"):
        text += f" -> {outcome['after']['target']}"
    yield from labelled_lines(mark, word, style, text, view.terminal)
    if outcome["reason"]:
        yield from labelled_lines("", "", "", outcome["reason"], view.terminal)
    old = outcome["before"].get("target")
    if status == "different" and old != outcome["after"].get("target"):
        verb = "points" if view.check else "pointed"
        yield from labelled_lines("", "", "", f"it {verb} to {old}; the files there are not moved", view.terminal)
    if progress := outcome.get("progress"):
        yield from labelled_lines("", "", "note", describe_progress(progress), view.terminal)
    if with_diff and status in CHANGES:
        from .difference import difference  # a run without --diff need not wait for it

        yield from difference(outcome["before"], outcome["after"], view.terminal, view.detail is Detail.EVERYTHING)


def describe_progress(progress: Progress) -> str:
    """Return how far work is that goes on by itself, or why it failed."""
    if "failed" in progress:
        return f"an earlier attempt failed: {progress['failed']}"
    from .._text.amounts import format_progress  # little takes minutes

    return ", ".join(filter(None, [f"in progress: {progress['step']}", format_progress(progress)]))


def steps(heading: str, left: list[ManualStep], terminal: Terminal, indent: int = 4) -> list[Line]:
    """Return what only a person can do, each with its link on a line of its own, to be opened or copied."""
    lines = indented_lines(heading, indent, terminal, "note") if left else []
    for step in left:
        lines += list_item("-", step["text"] + (f" (due {step['due']})" if "due" in step else ""), indent, terminal)
        if step.get("url"):
            lines += indented_lines(step["url"], indent + 2, terminal, "faint")
    return lines
