# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit in lines for a person: its report tells of all accounts together, and nothing else of it says anything.

And what other playbooks have in common with it, whose last part judges all accounts.
"""

from __future__ import annotations

from .._input.agreement import CANCELLED
from . import audit_report
from .account import Detail, Renderer, Result, View, account
from .layout import Line, Span


class PartRenderer(Renderer):
    """A part of an audit that the report tells of later; what keeps it from going on is told at once."""

    is_of_account = False
    is_judged_later = True

    def is_quiet(self, result: Result, view: View) -> bool:
        return not result.get("cancelled")

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        return [(Span(CANCELLED),)]

    def error(self, result: Result) -> str:
        return str(result.get("msg", "")) if result.get("failed") else ""


class OffboardPlanRenderer(Renderer):
    """The preview before the question, as all other plans. Its accounts count when they are offboarded."""

    is_of_account = False

    def is_planned(self, result: Result, view: View) -> bool:
        return super().is_planned(result, view._replace(check=True))

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        return account(name, result, view._replace(check=True), like)


class TestJobRenderer(Renderer):
    """What came of one account that tells it itself; the last part judges all of them."""

    is_judged_later = True


class TestJobsRenderer(PartRenderer):
    """The last part, where each account has told what there is to tell."""

    def error(self, result: Result) -> str:
        return "" if "accounts" in result else super().error(result)


class AuditRenderer(PartRenderer):
    """The report; without one, there was no way to make it."""

    def is_quiet(self, result: Result, view: View) -> bool:
        return "report" not in result

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        return audit_report.lines(
            result["report"], view.terminal, result.get("files", ()), view.detail is Detail.EVERYTHING
        )

    def error(self, result: Result) -> str:
        return "" if "report" in result else super().error(result)
