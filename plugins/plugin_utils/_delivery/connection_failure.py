# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explains why a connection to an account failed, from the output of ssh and the state of the login.

Loaded only after a failure.
"""

from __future__ import annotations

import subprocess
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from .._authentication import login_check, login_diagnosis
from .._text import ssh_words
from .._text.sanitise import harmless_lines
from . import payload

if TYPE_CHECKING:
    from .connection import AccountConnection

LOGIN_BEFORE = "hpc_onboard_login"  # the variable in which playbooks register the login before the work
SECONDS = 5  # to wait for the last output of ssh


class ConnectionFailure(NamedTuple):
    """A connection without an answer from the account.

    text: the reason, and what to do. began: the command may have started on the account. output: of ssh, in one line.
    may_retry: the login node dropped the connection before the login.
    """

    text: str
    began: bool
    output: str = ""
    may_retry: bool = False


def explain_failure(connection: AccountConnection, error: Exception) -> ConnectionFailure:
    """Return why Ansible's connection raised this error, and what to do."""
    # An OSError before this error: Ansible could not write all of the command's input.
    is_input_cut = connection.transport == "ssh" and isinstance(error.__context__, OSError)
    printed = f"{error}{_read_remaining_output(error)}" if is_input_cut else str(error)
    # The output of ssh contains the mark of a command that has begun; other connection plugins leave that unknown.
    may_have_begun = connection.transport != "ssh" or payload.BEGUN in printed
    began = connection.was_answered or (not is_input_cut and may_have_begun)
    lines = harmless_lines(ssh_words.strip_debug_lines(printed), 2000).split("\n")
    output = " | ".join(line for line in lines if line and line != payload.BEGUN)
    if began:
        reason = f" ({output})" if output else ""
        text = (
            f"the connection was lost{reason}. The state of the account is unknown; run hpc-onboard again to check and "
            "continue"
        )
        return ConnectionFailure(text, began, output)
    if ssh_words.is_session_refused(output):
        text = (
            "the login node refused a second session in the open connection (MaxSessions): log out of the shell that "
            f"uses this connection, then run hpc-onboard again ({output})"
        )
        return ConnectionFailure(text, began, output)
    # Without an open session, ssh did not connect, so its output explains nothing.
    if connection.blocked or connection.control_socket:
        login_message = (connection.host_variables.get(LOGIN_BEFORE) or {}).get("msg")
        advice = connection.blocked or login_message or login_check.advise_connect(connection.name)
        return ConnectionFailure(advice, began)
    if ssh_words.is_dropped_before_greeting(output) and not connection.unanswered:
        text = (
            f"the login node closed the connection before the login, perhaps because of too many connections at once "
            f"({output}). Run hpc-onboard again later, or with fewer accounts at a time (-f 2)"
        )
        return ConnectionFailure(text, began, output, may_retry=ssh_words.is_worth_retrying(output))
    diagnosis = login_diagnosis.FailedLogin(connection.name, connection.variables).diagnose(
        output, connection.unanswered
    )
    return ConnectionFailure(f"{diagnosis.text}. {diagnosis.next}", began, output)


def _read_remaining_output(error: Exception) -> str:
    """Return ssh's error output after " over ssh: ", as in Ansible's own messages; empty if it is not available.

    If Ansible cannot write the input of ssh, its error lacks this output. The local variables of its functions have it.
    """
    frames = {frame.f_code.co_name: frame.f_locals for frame, _line in traceback.walk_tb(error.__traceback__)}
    process: Any = frames.get("_send_initial_data", {}).get("ssh_process")
    loop_variables = frames.get("_bare_run", {})
    try:
        return f" over ssh: {(loop_variables.get('b_stderr', b'') + process.communicate(timeout=SECONDS)[1]).decode()}"
    except (AttributeError, TypeError, ValueError, OSError, subprocess.TimeoutExpired):
        return ""
