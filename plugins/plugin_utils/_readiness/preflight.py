# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether one account can be entered now, without a person: what is known here first, then one connection, one attempt.

Where a ticket or certificate has ended, or a session is needed that nobody has opened, nothing is tried. An account
that lets us in is asked for its Python, its home and its quotas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._audit import findings, place_checks
from .._audit.account import here
from .._authentication.login_diagnosis import FailedLogin
from .._authentication.unattended import LoginQuestion
from .._delivery.conversation import Conversation
from .._documents.fix import render_in_one_line
from .._text.ssh_words import State

if TYPE_CHECKING:
    from .._delivery.account_session import AccountSession
    from .._documents.result import PreflightAccount

Facts = Mapping[str, Any]
ENDED = "SES-001"  # the rule of tickets and certificates
GRAVE = ("critical", "high")  # a quota that is used up keeps onboarding from its work
SECONDS = 20  # for the home and the quotas


def known(variables: Facts) -> PreflightAccount | None:
    """What is amiss as far as this machine can tell; None where the account must be asked."""
    for one in here(variables):
        if one["rule"] == ENDED and one["class"] != "at_risk":  # which is one that will end soon
            return seen("ended", one["text"], render_in_one_line(one.get("fix", [])))
    return None


def asked(session: AccountSession) -> PreflightAccount:
    """What the account answers. Raises what a session raises."""
    cluster, account = session.variables.get("cluster") or {}, session.variables.get("account") or {}
    entries = (
        [one for one in place_checks.plan_place_checks(cluster, account, []) if one["kind"] == "quota"]
        if cluster
        else []
    )
    conversation = Conversation(session, entries, {"work": "examine", "seconds": SECONDS, "receipt": True})
    outcomes = conversation.outcomes(0)
    if conversation.receipt and conversation.receipt["problem"]:
        return seen("not_ready", conversation.receipt["problem"])
    found = [one for entry, outcome in zip(entries, outcomes, strict=True) for one in findings.of_check(entry, outcome)]
    grave = [one for one in found if one["severity"] in GRAVE]
    if grave:
        return seen("not_ready", " ".join(one["text"] for one in grave))
    return seen("open", "")


def shut(words: str, login: FailedLogin, unasked: Sequence[LoginQuestion]) -> PreflightAccount:
    """Return what ssh's failure means, and what to do. words: ssh's. unasked: what it would have asked the user."""
    why = login.diagnose(words, unasked)
    return seen(why.state, why.text, why.next)


def seen(state: State, text: str, further: str = "") -> PreflightAccount:
    """The result for one account."""
    return {"kind": "preflight_account", "changed": False, "state": state, "text": text, "next": further}
