# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines that show the result of one account: pure functions from a result to text of a given width.

A result has an outcome for each resource, such as a link or a file: its status (see STYLES) and its states before and
after. A note says why a role (its field "capability") skipped something; a remark informs the user. A manual step is
a task that only the user can do, such as accepting the terms of a site.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from .._delivery.result import CHANGES, FAILURES, PLANNED, WORDS, count_statuses, name_keys
from .layout import (
    Line,
    Span,
    Terminal,
    aligned_line,
    indented_lines,
    labelled_lines,
    lines_below_label,
    step_lines,
)
from .progress_line import describe_progress

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import ManualStep

Result = Mapping[str, Any]
"""The result of a task: one of _documents/result.py with members that Ansible adds, or an error of Ansible."""

STYLES = {  # status of an outcome -> its mark, and the style of its lines
    "ok": ("=", "ok"),
    "missing": ("+", "changed"),
    "different": ("~", "changed"),
    "extra": ("-", "changed"),
    "blocked": ("!", "error"),
    "failed": ("!", "error"),
    "unknown": ("?", "error"),
}
FAILED_STATES = ("unreachable", "failed")  # of an AccountEnd
PREVIEWED_KINDS = ("account", "offboard_shown")  # kinds of results whose preview is part of a plan
MANY = 10  # accounts; of more than this, only the exceptions are shown


class AccountEnd(NamedTuple):
    """The end of a run for one account. state: empty (nothing is declared), ok, changed, failed or unreachable.

    reason: why the account is empty, failed (of several failures: the first) or unreachable. steps: the open manual
    steps of the account. warned: a check of the account has a warning.
    """

    state: str
    reason: str = ""
    steps: tuple[ManualStep, ...] = ()
    warned: bool = False


class Detail(Enum):
    """The level of detail for an account. EXCEPTIONS: only failures."""

    EXCEPTIONS = 1
    CHANGES = 2
    EVERYTHING = 3


class View(NamedTuple):
    """Options of the output. check: it is a preview. same_as: the account that has shown the same failure, or empty."""

    terminal: Terminal = Terminal()
    check: bool = False
    detail: Detail = Detail.CHANGES
    same_as: str = ""


def choose_detail(accounts: int, verbosity: int, diff: bool) -> Detail:
    """Return the level of detail for this number of accounts. verbosity: number of -v. diff: --diff was given."""
    if verbosity > 0:
        return Detail.EVERYTHING
    return Detail.EXCEPTIONS if accounts > MANY and not diff else Detail.CHANGES


def _find_reason(result: Result) -> str:
    """Return 'RESOURCE: REASON' of the first failed outcome, or else the message of the result."""
    for outcome in result.get("outcomes", []):
        if outcome["status"] in FAILURES:
            return f"{outcome['identity']}: {outcome['reason'] or outcome['status']}"
    return str(result.get("msg", ""))


class Renderer:
    """Renders the results of one kind; this class those of onboarding and offboarding an account.

    The subclasses in RENDERERS override what differs for the other kinds.
    """

    is_of_account = True  # the result counts among the accounts in the last lines
    unit = "account"  # of the total in the last lines
    changed_word = "changed"  # in the total; another word if the changes are not on the account
    is_inspection = False  # nothing was to be changed: an account is "ready", not "up to date"
    is_judged_later = False  # a later task judges all accounts: a failure counts even if Ansible ignores it
    shows_skips = True  # a task that Ansible skipped is shown

    def find_end(self, result: Result, unreachable: bool = False) -> AccountEnd:
        """Return the end of the account, as this result shows it. unreachable: no task could run on the account."""
        message, open_steps = str(result.get("msg", "")), tuple(result.get("human_steps", []))
        if unreachable:
            return AccountEnd("unreachable", message, open_steps)
        if result.get("failed"):
            return AccountEnd("failed", _find_reason(result), open_steps)
        if result.get("outcomes") == []:  # nothing is declared
            return AccountEnd("empty", message, open_steps)
        return AccountEnd("changed" if result.get("changed") else "ok", "", open_steps)

    def merge_ends(self, first: AccountEnd | None, second: AccountEnd) -> AccountEnd:
        """Return the worse of two ends of an account; the first if both are equal. first: None before any task."""
        order = ("empty", "ok", "changed", "failed", "unreachable")
        return max(filter(None, (first, second)), key=lambda end: order.index(end.state))

    def is_planned(self, result: Result, view: View) -> bool:
        """Return True for a preview that is shown in one plan with those of all other accounts."""
        has_details = view.detail is Detail.EVERYTHING or "diff" in result  # shown for each account separately
        return view.check and not has_details and "outcomes" in result and result.get("kind") in PREVIEWED_KINDS

    def is_hidden(self, result: Result, view: View) -> bool:
        """Return True if the result is not shown: only exceptions are shown, and all outcomes of the account are ok."""
        if view.detail is not Detail.EXCEPTIONS or result.get("failed") or result.get("unreachable"):
            return False
        return "outcomes" in result and all(outcome["status"] == "ok" for outcome in result["outcomes"])

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the lines of the result of an account (name)."""
        return account_lines(name, result, view)

    def find_error(self, result: Result) -> str:
        """Return an error that is not about an account, for Ansible to show; empty for no error, as always here."""
        return ""

    def next_command(self, result: Result) -> str | None:
        """Return the next command; empty if nothing is left to do; None (here) if the last lines of the run choose."""
        return None


KINDS = {  # action -> the kind of a result without one, because Ansible itself failed or skipped the task
    **dict.fromkeys(("hpc.onboard.converge", "hpc.onboard.offboard", "hpc.onboard.export_script"), "account"),
    **dict.fromkeys(("hpc.onboard.adopt", "hpc.onboard.probe"), "account"),
    "hpc.onboard.test_job": "test_job_account",
    "hpc.onboard.doctor": "doctor",
    "hpc.onboard.rotate": "rotation_share",
    "hpc.onboard.audit": "audit_settings",
    "hpc.onboard.fix": "fix_shown",
    "hpc.onboard.connect": "login",
    "hpc.onboard.preflight": "preflight_settings",
    "hpc.onboard.ssh_config": "ssh_config_part",
    "hpc.onboard.import_result": "result_imported",
}
REQUIRES_ACCOUNTS = "/internal/require_accounts.yml:"
"""Part of the path of the first play of each playbook, and of its task, which is shown only if it fails."""
RENDERERS = {  # kind of a result -> its renderer, as FILE.CLASS of this package
    **dict.fromkeys(("preflight_settings", "preflight_account", "test_job_settings"), "audit.PartRenderer"),
    **dict.fromkeys(("audit_settings", "audit_account", "offboard_part", "ssh_config_part"), "audit.PartRenderer"),
    **dict.fromkeys(("adopt_part", "probe_part", "fix_asked"), "audit.PartRenderer"),
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


def load_renderer(kind: str) -> Renderer:
    """Return the renderer of this kind of result. Its file is imported only now: most runs need just Renderer."""
    if kind not in RENDERERS:
        return Renderer()
    file, _dot, name = RENDERERS[kind].partition(".")
    renderer: Renderer = getattr(import_module(f"{__package__}.{file}"), name)()
    return renderer


def account_lines(name: str, result: Result, view: View) -> list[Line]:
    """Return the lines of an account (name): a heading, changes, failures, notes, remarks and manual steps.

    "adoption" offers to use what the user has set up; "introduction" explains the account after its first onboarding.
    """
    if "outcomes" not in result:
        return _lines_without_outcomes(name, result, view)
    # the totals, such as '3 created'; without outcomes, why nothing is declared
    text = count_statuses(result["outcomes"], view.check) or str(result.get("msg") or "nothing to do")
    lines = heading(name, result, text, view)
    # "keys": fingerprint of a key -> its name, for the texts of outcomes
    for outcome in name_keys(result["outcomes"], result.get("keys", {})):
        if _is_shown(outcome, view.detail):
            lines += _outcome_lines(outcome, view, with_diff="diff" in result)
    if view.detail is not Detail.EXCEPTIONS:
        for word, notes in (("skipped", result.get("notes", [])), ("note", result.get("remarks", []))):
            for note in notes:
                text = f"{note['capability']}: {note['text']}"
                lines += labelled_lines(mark="", word=word, style="note", text=text, terminal=view.terminal)
        if "adoption" in result:
            from .difference import offer_lines  # imported late: few accounts need it

            lines += offer_lines({name: result["adoption"]}, indent=4, terminal=view.terminal)
        lines += step_lines("Manual steps:", result.get("human_steps", []), view.terminal)
        if "introduction" in result:
            from .difference import introduction_lines  # imported late: shown once for each account

            lines += introduction_lines(result["introduction"], view.terminal)
    return lines


def _is_shown(outcome: ResourceOutcome, detail: Detail) -> bool:
    """Return True if an outcome is shown at this level of detail. Failures are always shown."""
    statuses = FAILURES if detail is Detail.EXCEPTIONS else (*FAILURES, *CHANGES)
    return detail is Detail.EVERYTHING or outcome["status"] in statuses


def _lines_without_outcomes(name: str, result: Result, view: View) -> list[Line]:
    """Return the lines of an account (name) that could not be reached, or whose settings are invalid."""
    state = "unreachable" if result.get("unreachable") else "failed"
    failed_result = {**result, "failed": True}  # gives an unreachable account the mark of a failure
    if view.same_as:  # this account has already shown the reason
        return heading(name, failed_result, f"{state}, as {view.same_as}", view)
    lines = heading(name, failed_result, state, view)
    reason = result.get("msg") or result.get("censored") or "no reason was given"  # Ansible censors results with no_log
    lines += indented_lines(str(reason), 4, view.terminal)
    if result.get("exception"):
        lines += indented_lines("To see where this error comes from, add -vvv.", 4, view.terminal, "faint")
    if view.detail is not Detail.EXCEPTIONS:
        lines += step_lines("Manual steps before the first login:", result.get("human_steps", []), view.terminal)
    return lines


def heading(name: str, result: Result, text: str, view: View) -> list[Line]:
    """Return the first line of an account: mark, name and text, such as the totals of its result.

    At the right end are the word "sandbox", if the account is one, and the run time.
    """
    statuses = {outcome["status"] for outcome in result.get("outcomes", [])}
    good = view.terminal.mark("good")
    if result.get("failed") or statuses & set(FAILURES):
        mark, style = view.terminal.mark("bad"), "error"
    elif statuses & set(CHANGES):
        mark, style = "~" if view.check else good, "changed"
    elif result.get("outcomes") == []:  # nothing is declared
        mark, style = "-", "note"
    else:
        mark, style = good, "ok"
    right = ["sandbox"] if result.get("sandbox") else []
    right += [f"{result['seconds']:.1f} s".rjust(6)] if "seconds" in result else []
    mark_style = "ok" if mark == good else style  # a change that was made has the style "changed" only in its text
    left = (Span(mark, mark_style), Span(" "), Span(name, "bold"), Span("  "), Span(text, style))
    return aligned_line(left, "  ".join(right), view.terminal)


def _outcome_lines(outcome: ResourceOutcome, view: View, with_diff: bool) -> Iterator[Line]:
    """Yield the lines of a resource: first its action, name, size and link target; below, reason, old target, progress.

    with_diff: also yield the changed lines of its files.
    """
    status = outcome["status"]
    word = PLANNED.get(status, WORDS[status]) if view.check else WORDS[status]
    mark, style = STYLES[status]
    size = outcome["before"].get("size") if status in CHANGES else ""  # of a cache or an image
    text = outcome["identity"] + (f", {size}" if size else "")
    if outcome["after"].get("target"):
        text += f" -> {outcome['after']['target']}"
    yield from labelled_lines(mark, word, style, text, view.terminal)
    if outcome["reason"]:
        yield from lines_below_label(outcome["reason"], view.terminal)
    old_target = outcome["before"].get("target")
    if old_target and status == "different" and old_target != outcome["after"].get("target"):
        text = f"the link {'points' if view.check else 'pointed'} to {old_target}; the files there are not moved"
        yield from lines_below_label(text, view.terminal)
    if progress := outcome.get("progress"):
        yield from lines_below_label(describe_progress(progress), view.terminal)
    if with_diff and status in CHANGES:
        from .difference import difference_lines  # imported late: only for --diff

        is_whole = view.detail is Detail.EVERYTHING
        yield from difference_lines(outcome["before"], outcome["after"], view.terminal, every=is_whole)
