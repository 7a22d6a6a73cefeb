# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation in lines for a person: what its lead says of all targets, and what came of each account's share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .account import BAD, Ended, Renderer, Result, View, worst
from .checks import Checked, marked, shown, title
from .layout import Line, Look, row

if TYPE_CHECKING:
    from .._documents.result import TargetCheck


class Lead(Checked):
    """What the lead found and did; it is no account, and judges them all."""

    is_of_account = False
    is_judged_later = True
    tells_skips = False

    def is_quiet(self, result: Result, view: View) -> bool:
        return not result["checks"]

    def lines(self, name: str, result: Result, view: View, like: str | None = None) -> list[Line]:
        return [*title(result["title"], result, view), *_table(shown(result, view), view.look)]

    def next_command(self, result: Result) -> str | None:
        command: str = result["then"]
        return command


class Share(Renderer):
    """An account's share of a step. One without a share in it has nothing to say."""

    is_judged_later = True
    tells_skips = False

    def kept(self, first: Ended | None, then: Ended) -> Ended:
        """An account is asked again: a failure that is over counts no more, a change does."""
        return then if first is None or first.state in BAD or then.state in BAD else worst(first, then)


def _table(found: list[TargetCheck], look: Look) -> Iterator[Line]:
    """Every target with what is known of it in a column of its own; what else is said is below."""
    column = max((len(check["name"]) for check in found if check["is_target"]), default=0)
    for check in found:
        mark, style = marked(check, look)
        if check["is_target"]:
            yield from row(mark, style, check["name"], check["text"], column, look)
        else:
            yield from row(mark, style, check["name"], check["text"], look.width, look)
