# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of an account that is not entered: no session is open, or a certificate or ticket has ended."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from .._input.command_line import command
from .credential import Credential
from .renewers import absence, is_there, renewal, user_of


def advice(account: str) -> str:
    """Why the account was not reached, and the command that opens the session."""
    return (
        "needs a person: something is asked for at this door, and no session is open, so nothing was done."
        f" At a terminal: {shlex.join([*command('connect', ['-l', account])])}. Where your key alone lets you in, write"
        " 'door: key' in its entry of the accounts file"
    )


def by_hand(account: str) -> str:
    """Why an account was not reached that no program may enter, and the one command for it."""
    return (
        "needs a person: no program may enter this account. Nothing was tried. Write a file that you run there:"
        f" {shlex.join([*command('export', ['-l', account])])}"
    )


def unshared() -> str:
    """Why an account was not reached at which a person is asked in each connection, and what to do."""
    return (
        "needs a person: something is asked for at this door in each connection, which the site forbids to share."
        " Nothing was tried. Run this at a terminal. Where your key alone lets you in, write 'door: key' in its entry"
        " of the accounts file"
    )


def ended(variables: Mapping[str, Any], held: Credential, now: datetime) -> str:
    """That what lets the person in has ended, and the command that makes a new one. variables: Ansible's."""
    cluster = variables.get("cluster") or {}
    order = renewal(cluster, user_of(variables), held.place)
    how = shlex.join(order) or str((cluster.get("auth") or {}).get("command", "")) or "see the site's pages"
    get = f". {absence(order)}" if order and not is_there(order) else ""
    return f"{held.sentence(now)}, so nothing was tried. A new one: {how}{get}"
