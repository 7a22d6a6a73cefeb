# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person is told of a site once, when an account there has been set up for the first time from this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from .._input.command_line import command
from .._ssh_config.texts import FILE
from .._state import receipts
from . import manual_steps

if TYPE_CHECKING:
    from .._documents.result import Introduction

MOST = 4  # texts; the cheat sheet has all of them


def of_first_time(variables: Mapping[str, Any], name: str) -> Introduction | None:
    """The site's rules, then its traps, the command that shows the rest, and what nothing can show to be done.

    None where it is not the first time.

    To be asked before this machine keeps what was noted on the account.
    """
    try:
        known = receipts.read_receipt(name, sandbox=False)
    except AccountError:  # there was an earlier time, whatever came of its record
        return None
    cluster = variables.get("cluster") or {}
    texts = [str(text) for text in (*cluster.get("policies", ()), *cluster.get("traps", ()))]
    steps = [] if known else manual_steps.unseen(variables)
    if known or not (texts or steps):
        return None
    names = [] if os.path.exists(os.path.expanduser(FILE)) else command("ssh-config")
    found: Introduction = {
        "texts": texts[:MOST], "more": len(texts[MOST:]), "command": command("cheatsheet", [name]), "names": names
    }  # fmt: skip
    if steps:
        found["steps"], found["done"] = steps, command("done", [name, steps[0]["id"]])
    return found
