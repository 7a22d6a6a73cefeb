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
    """Return why the account was not reached, and the command that opens a session."""
    return (
        "needs a person: something is asked for at this door, and no session is open, so nothing was done."
        f" At a terminal: {shlex.join([*command('connect', ['-l', account])])}. Where your key alone lets you in, write"
        " 'auth: key' in its entry of the accounts file"
    )


def by_hand(account: str) -> str:
    """Return why an account was not reached where programs may not log in, and the command for it."""
    return (
        "needs a person: no program may enter this account. Nothing was tried. Write a file that you run there:"
        f" {shlex.join([*command('export-script', ['-l', account])])}"
    )


def unshared() -> str:
    """Return why an account was not reached that asks the user in each connection, and what to do."""
    return (
        "needs a person: something is asked for at this door in each connection, which the site forbids to share."
        " Nothing was tried. Run this at a terminal. Where your key alone lets you in, write 'auth: key' in its entry"
        " of the accounts file"
    )


def ended(variables: Mapping[str, Any], held: Credential, now: datetime) -> str:
    """Return that the certificate or ticket has expired, and the command for a new one. variables: Ansible's."""
    cluster = variables.get("cluster") or {}
    order = renewal(cluster, user_of(variables), held.place)
    how = shlex.join(order) or str((cluster.get("auth") or {}).get("command", "")) or "see the site's pages"
    get = f". {absence(order)}" if order and not is_there(order) else ""
    return f"{held.sentence(now)}, so nothing was tried. A new one: {how}{get}"
