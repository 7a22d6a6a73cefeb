# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renews a certificate or ticket at the user's terminal, by the program that the profile names, if the user agrees."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from . import terminal
from .credential import find_credential
from .login_check import advise_renewal
from .renewers import has_program, renewal_command, user_of

State = Literal["good", "renewed", "ended"]


def renew_credential(variables: Mapping[str, Any], where: str, ask: Callable[[str], str]) -> tuple[State, str]:
    """Offer to renew the credential of an account. Return its state, and why nothing is tried if it is "ended".

    variables: Ansible's, of the account. where: the user's terminal; if empty, nothing is offered. ask: shows a
    question and returns the answer. Raise NoTerminal, NotAnswered.
    """
    now = datetime.now(UTC)
    credential = find_credential(variables, now)
    if credential is None or not credential.needs_renewal(now):
        return "good", ""
    advice = advise_renewal(variables, credential, now)
    unchanged: tuple[State, str] = ("ended", advice) if credential.is_unusable(now) else ("good", "")
    renewal = renewal_command(variables.get("cluster") or {}, user_of(variables), credential.place)
    if not where or not renewal or not has_program(renewal):
        return unchanged
    words = shlex.join(renewal)
    name = variables.get("inventory_hostname", "it")
    answer = ask(f"{name}: {credential.describe(now)}. Run '{words}' now? [y/N] ")
    if answer.strip().lower() not in ("y", "yes"):
        return unchanged
    try:
        code = terminal.run_at_terminal(renewal, where)
    except OSError as error:  # after 'su', the terminal belongs to another user
        return (
            "ended",
            f"{advice}. '{words}' could not be started at {where} ({error.strerror}): run the command yourself",
        )
    now = datetime.now(UTC)
    credential = find_credential(variables, now)
    if credential is None or not credential.is_unusable(now):
        return "renewed", ""
    return (
        "ended",
        f"'{words}' ended with exit code {code}, but {credential.describe(now)}, so hpc-onboard did not connect",
    )
