# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renews a certificate or ticket at the user's terminal, with the program that the profile names."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from .._input.agreement import is_yes
from . import terminal
from .credential import find_credential
from .login_check import advise_renewal
from .renewers import has_program, renewal_command, user_of

State = Literal["good", "renewed", "ended"]


def renew_credential(variables: Mapping[str, Any], user_terminal: str, ask: Callable[[str], str]) -> tuple[State, str]:
    """Offer to renew an account's credential if it expires soon. Return its state and, if it is unusable, the reason.

    The state is "good" if the credential is usable or not needed, "renewed", or "ended" if the credential is unusable.
    variables: Ansible's, of the account. user_terminal: the path of the terminal; if empty, nothing is offered. ask:
    shows a question and returns the answer. Raise NoTerminal, NotAnswered.
    """
    now = datetime.now(UTC)
    credential = find_credential(variables, now)
    if credential is None or not credential.needs_renewal(now):
        return "good", ""
    advice = advise_renewal(variables, credential, now)
    # the result if the credential is not renewed: it may still be usable, but expire soon
    without_renewal: tuple[State, str] = ("ended", advice) if credential.is_unusable(now) else ("good", "")
    renewal = renewal_command(variables.get("cluster") or {}, user_of(variables), credential.place)
    if not user_terminal or not renewal or not has_program(renewal):
        return without_renewal
    command = shlex.join(renewal)
    account = variables.get("inventory_hostname", "account")
    answer = ask(f"{account}: {credential.describe(now)}. Run '{command}' now? [y/N] ")
    if not is_yes(answer):
        return without_renewal
    try:
        code = terminal.run_at_terminal(renewal, user_terminal)
    except OSError as error:  # after 'su', the terminal belongs to another user
        reason = f"'{command}' could not be started at {user_terminal} ({error.strerror}). Run the command yourself"
        return "ended", f"{advice}. {reason}"
    now = datetime.now(UTC)
    credential = find_credential(variables, now)
    if credential is None or not credential.is_unusable(now):
        return "renewed", ""
    reason = f"'{command}' ended with exit code {code}, and {credential.describe(now)}, so hpc-onboard did not connect"
    return "ended", reason
