# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be taken out of an account, in lines for the person who is asked whether it is to be."""

from __future__ import annotations

from .account import Detail, Renderer, Result, View, account
from .layout import Line


class OffboardPlanRenderer(Renderer):
    """What is shown before anybody is asked; all of it, however many accounts there are."""

    is_of_account = False

    def is_quiet(self, result: Result, view: View) -> bool:
        return super().is_quiet(result, view) and not result.get("remarks")

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        detail = Detail.CHANGES if view.detail is Detail.EXCEPTIONS else view.detail
        return account(name, result, view._replace(check=True, detail=detail), like)
