# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be removed from accounts, for the user who is asked: a plan, in the lines of all other plans."""

from __future__ import annotations

from .account import Renderer, Result, View, account
from .layout import Line


class OffboardPlanRenderer(Renderer):
    """The preview before the question. Its accounts count when they are offboarded."""

    is_of_account = False

    def is_planned(self, result: Result, view: View) -> bool:
        return super().is_planned(result, view._replace(check=True))

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        return account(name, result, view._replace(check=True), like)
