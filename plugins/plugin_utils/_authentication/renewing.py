# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A new certificate or ticket, made at the terminal by the program that the profile names, if the person agrees."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from . import credential, login_advice, terminal
from .renewers import is_there, renewal, user_of

State = Literal["good", "renewed", "ended"]


def renewed(variables: Mapping[str, Any], where: str, ask: Callable[[str], str]) -> tuple[State, str]:
    """What came of it, and why nothing is tried where it still has ended.

    variables: Ansible's, of an account. where: the terminal; empty where there is none, and nobody is asked. ask: gives
    what the person types. Raises NoTerminal, NotAnswered.
    """
    now = datetime.now(UTC)
    held = credential.of_account(variables, now)
    if held is None or not held.wants_renewal(now):
        return "good", ""
    has_ended = held.lets_nobody_in(now)
    order = renewal(variables.get("cluster") or {}, user_of(variables), held.place)
    if not where or not order or not is_there(order):
        return ("ended", login_advice.ended(variables, held, now)) if has_ended else ("good", "")
    words = shlex.join(order)
    said = ask(f"{variables.get('inventory_hostname', 'it')}: {held.sentence(now)}. Run '{words}' now? [y/N] ")
    if said.strip().lower() not in ("y", "yes"):
        return ("ended", login_advice.ended(variables, held, now)) if has_ended else ("good", "")
    try:
        code = terminal.run(order, where)
    except OSError as error:  # after 'su', the terminal is another user's
        said = login_advice.ended(variables, held, now)
        return "ended", f"{said}. '{words}' could not be started at {where} ({error.strerror}): run it yourself"
    now = datetime.now(UTC)
    held = credential.of_account(variables, now)
    if held is None or not held.lets_nobody_in(now):
        return "renewed", ""
    return "ended", f"'{words}' ended with {code}, and {held.sentence(now)}, so nothing was tried"
