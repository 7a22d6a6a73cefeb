# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The renderers of playbooks whose last task reports on all accounts together, such as an audit.

Each renderer shows one kind of task result. lines() returns its lines for an account (name) with the options of the
output (view). is_hidden() returns True if a result is not shown. find_error() returns an error that Ansible shows.
"""

from __future__ import annotations

from .._input.agreement import CANCELLED
from . import audit_report
from .account import Detail, Renderer, Result, View, account_lines
from .layout import Line, Span


class PartRenderer(Renderer):
    """The base of tasks that report on all accounts, or whose results a later task reports.

    A result is shown if it has the field `shown`: here, if the user has cancelled the run.
    """

    is_of_account = False
    is_judged_later = True
    shows_skips = False  # the result of another task of the run is shown
    shown = "cancelled"

    def is_hidden(self, result: Result, view: View) -> bool:
        """Return True for a result without the field that is shown."""
        return self.shown not in result

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the line for a cancelled run. The parameters are not used."""
        return [(Span(CANCELLED),)]

    def find_error(self, result: Result) -> str:
        """Return the message of a failed task; empty for a result that is shown, such as a report with findings."""
        return str(result.get("msg", "")) if result.get("failed") and self.shown not in result else ""


class OffboardPlanRenderer(Renderer):
    """The preview of an offboarding, shown as a plan before the user confirms it."""

    is_of_account = False  # the result of the offboarding itself counts

    def is_planned(self, result: Result, view: View) -> bool:
        """Return True if the preview is shown in one plan with those of all other accounts."""
        return super().is_planned(result, view._replace(check=True))  # check: show it as a preview

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the lines of the account, as those of a preview (check)."""
        return account_lines(name, result, view._replace(check=True))


class TestJobRenderer(Renderer):
    """The result of one account's test job; the last task judges all accounts."""

    changed_word = "pending"  # the job was submitted and has not ended; the account is unchanged
    is_judged_later = True


class TestJobsRenderer(PartRenderer):
    """The last task of test-job; the accounts have already shown their results."""

    def find_error(self, result: Result) -> str:
        """Return the error that prevented the report; empty for a report, which has "accounts" even if jobs failed."""
        return "" if "accounts" in result else super().find_error(result)


class AuditRenderer(PartRenderer):
    """The report of an audit."""

    shown = "report"

    def lines(self, name: str, result: Result, view: View) -> list[Line]:
        """Return the lines of the report, with the files to which it was written ("files"); with -v, all findings."""
        is_whole = view.detail is Detail.EVERYTHING
        return audit_report.report_lines(result["report"], view.terminal, files=result.get("files", ()), every=is_whole)
