# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks whether a login to an account can succeed now, and gives advice if it cannot.

A login may need a valid certificate or ticket, a session that only the user can open, or the user in every session. If
the login is blocked, ssh is made to fail before it connects, because sites count failed logins.

The inventory marks these accounts by a key in the variable "account": "by_hand" (programs may not log in),
"lapses" (the certificate or ticket has expired or expires soon) and "asks_each_time" (ssh asks the user at every
connection). "cluster" is the cluster's profile.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from ...module_utils._core.errors import AccountError
from .._input.command_line import command_for
from .._input.ssh_arguments import ONLY_OPEN_SESSION
from .credential import Credential, find_credential
from .renewers import explain_missing_program, has_program, renewal_command, user_of

Variables = Mapping[str, Any]  # Ansible's, of one account, with those of ssh as text
Output = TypeVar("Output")

KEY_ALONE = "If your SSH key alone is enough to log in, set 'auth: key' in the entry of this account in accounts.yml"


def prepare_login(
    send: Callable[[], Output], connection: Any, variables: Variables, may_ask: bool
) -> tuple[Callable[[], Output], str]:
    """Return a function that calls send and answers the login's questions, and why the login is blocked, or "".

    send: sends a command to an account. connection: Ansible's; its ssh options change if the login is blocked.
    variables: Ansible's, of the account. may_ask: True if the user may be asked during this work.
    """
    reason = find_block(variables, may_ask)
    if reason:
        connection.set_option("ssh_args", " ".join(ONLY_OPEN_SESSION))  # fails at once unless a session is open
        return send, reason
    if "asks_each_time" not in variables["account"]:
        return send, ""  # the login asks nothing
    from .._secrets.prompt import NotAnswered, NoTerminal  # imported late: most logins do not ask the user
    from . import questions, ssh_login

    def send_answering() -> Output:
        """Send the command and answer the questions of its login. Raise AccountError if the user does not answer."""
        try:
            with ssh_login.answer_questions(*questions.make_prompts(variables)):
                return send()
        except (NoTerminal, NotAnswered):
            raise AccountError("you did not answer the login prompt, so hpc-onboard did not connect") from None
        except OSError as error:
            raise AccountError(explain_no_questions(error)) from None

    return send_answering, ""


def find_block(variables: Variables, may_ask: bool) -> str:
    """Return why a login to the account cannot succeed now, and what to do; empty if the login may succeed.

    may_ask: see prepare_login.
    """
    account = variables.get("account") or {}
    if account.get("by_hand"):
        return advise_script(str(variables["inventory_hostname"]))
    if account.get("lapses"):
        now = datetime.now(UTC)
        credential = find_credential(variables, now)
        if credential and credential.is_unusable(now):
            return advise_renewal(variables, credential, now)
    login_questions = account.get("asks_each_time")  # None for a login without questions
    can_ask = may_ask and login_questions and login_questions["at_terminal"]  # True if this run has a terminal
    return advise_terminal() if login_questions and not can_ask else ""


def explain_no_questions(error: OSError) -> str:
    """Return why hpc-onboard cannot ask the questions of a login, and what to do. error: of a file or program."""
    return (
        f"hpc-onboard could not use {error.filename or 'a temporary file'} ({error.strerror}), so it did not connect. "
        "Check the permissions and the free space, then try again"
    )


def advise_connect(account: str) -> str:
    """Return why the account was not reached (no session is open), and the command that opens a session."""
    connect = shlex.join(command_for("connect", ["-l", account]))
    return (
        "the login asks for a password or code, and no SSH session is open, so hpc-onboard did not connect. "
        f"At a terminal, run: {connect}. {KEY_ALONE}"
    )


def advise_script(account: str) -> str:
    """Return why the account was not reached (programs may not log in), and the command that writes a script."""
    export = shlex.join(command_for("export-script", ["-l", account]))
    return (
        f"the site does not allow programs to log in to this cluster, so hpc-onboard did not connect. To write a "
        f"script that you can run on the cluster yourself, run: {export}"
    )


def advise_terminal() -> str:
    """Return why the account was not reached (it asks the user in every session), and what to do."""
    return (
        "the login asks for a password or code each time, and the site forbids shared sessions, so hpc-onboard did not "
        f"connect. Run the same command again at a terminal. {KEY_ALONE}"
    )


def advise_renewal(variables: Variables, credential: Credential, now: datetime) -> str:
    """Return why the certificate or ticket is unusable, and how to get a new one.

    The advice is the command of the profile's program, else the command in the profile, else the site's documentation.
    now: the time to compare with the credential's end.
    """
    cluster = variables.get("cluster") or {}
    renewal = renewal_command(cluster, user_of(variables), credential.place)  # [] without a program
    command = shlex.join(renewal) or str((cluster.get("auth") or {}).get("command", ""))
    instruction = f"run: {command}" if command else "see the site's documentation"
    installation = f". {explain_missing_program(renewal)}" if renewal and not has_program(renewal) else ""
    return (
        f"{credential.describe(now)}, so hpc-onboard did not connect. "
        f"To get a new {credential.kind}, {instruction}{installation}"
    )
