# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A door that is passed only while a certificate or ticket is good, or where the person is asked in each connection.

Where it is shut, ssh is told to fail before it connects: a site counts what it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from ...module_utils._core.errors import AccountError
from .._input.ssh_arguments import NO_OTHER
from . import credential, login_advice

Facts = Mapping[str, Any]
Answer = TypeVar("Answer")


def passing(
    send: Callable[[], Answer], connection: Any, variables: Facts, may_ask: bool
) -> tuple[Callable[[], Answer], str]:
    """How a command is sent through the door, and why nothing is to be tried there now, which is mostly empty.

    connection: Ansible's. variables: of the account. may_ask: whether the work is one that asks a person.
    """
    why = reason(variables, may_ask)
    if why:
        connection.set_option("ssh_args", " ".join(NO_OTHER))
        return send, why
    if "asks_each_time" not in variables["account"]:
        return send, ""
    from .._secrets.prompt import NotAnswered, NoTerminal
    from . import questions, ssh_login  # one kind alone

    def sent() -> Answer:
        try:
            with ssh_login.answered_meanwhile(*questions.of_account(variables)):
                return send()
        except (NoTerminal, NotAnswered):
            raise AccountError("the question was not answered, and nothing was done") from None

    return sent, ""


def reason(variables: Facts, may_ask: bool) -> str:
    """Why nothing is to be tried at the account now; empty where something is."""
    if (variables.get("account") or {}).get("by_hand"):
        return login_advice.by_hand(str(variables["inventory_hostname"]))
    lapsed = ended(variables)
    if lapsed:
        return lapsed
    asked = (variables.get("account") or {}).get("asks_each_time")
    if asked and not (may_ask and asked["at_terminal"]):
        return login_advice.unshared()
    return ""


def ended(variables: Facts) -> str:
    """That the certificate or ticket of the account has ended, and how a new one is had; empty where it has not."""
    if not (variables.get("account") or {}).get("lapses"):
        return ""
    now = datetime.now(UTC)
    held = credential.of_account(variables, now)
    return login_advice.ended(variables, held, now) if held and held.lets_nobody_in(now) else ""
