# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person answers who was shown what is to be done: only a yes is one."""

from __future__ import annotations

from ...module_utils._core.errors import AccountError

YES = ("y", "yes")


def check(answer: str, nothing: str, again: str) -> None:
    """Raise AccountError unless the answer is a yes; an empty one may mean that nobody is at the terminal.

    nothing: what did not happen then. again: the command that asks nobody.
    """
    if answer.lower() in YES:
        return
    why = "it was not agreed to" if answer else f"nobody agreed to it. Without a terminal: {again}"
    raise AccountError(f"{nothing}: {why}")
