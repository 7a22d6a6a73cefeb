# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of an account that is entered by a session, where none is open."""

from __future__ import annotations

import shlex

from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import command


def advice(account: str) -> str:
    """Why the account was not reached, and the command that opens the session."""
    return (
        "needs a person: something is asked for at this door, and no session is open. Nothing was tried. At a terminal:"
        f" {shlex.join([*command('connect', ['-l', account])])}. Where your key alone lets you in, write 'door: key' in"
        " its entry of the accounts file"
    )
