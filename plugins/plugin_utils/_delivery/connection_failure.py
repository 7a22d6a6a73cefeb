# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explains why a connection to an account failed or ended without an answer, from its output and the login's state.

Loaded only after a failure.
"""

from __future__ import annotations

import subprocess
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from .._authentication import login_check, login_diagnosis
from .._text import ssh_words
from .._text.sanitise import harmless, harmless_lines
from . import payload

if TYPE_CHECKING:
    from .connection import AccountConnection

LOGIN_BEFORE = "hpc_onboard_login"  # the variable in which playbooks register the login before the work
PYTHON_ADVICE = "Set ansible_python_interpreter in the account's 'vars:' to the path of Python 3.6 or newer"
SSH_ERROR = 255  # exit code of ssh itself
ENDED_EARLY = (
    "A start-up file of the login shell ends the shell (exit, exec) before it can run a command: check ~/.bashrc"
    " (bash), ~/.zshenv (zsh), ~/.cshrc (csh, tcsh), or ~/.config/fish/config.fish (fish), and the files that it"
    " reads. In bash and zsh, move that line below 'case $- in *i*) ;; *) return;; esac',"
    " so that only interactive shells run it"
)
MAX_CHARACTERS = 2000  # of the output of ssh
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
    # the end, because ssh names the failure last: a login node may print a long notice before it
    lines = harmless_lines(ssh_words.strip_debug_lines(printed)[-MAX_CHARACTERS:]).split("\n")
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


def explain_missing_answer(stdout: str, stderr: str, code: int, ssh_arguments: str) -> str:
    """Return why an output contains no answer, and what to do."""
    advice = f"Check the account's start-up files: 'ssh {ssh_arguments} true' must end immediately and print nothing"
    was_started = payload.BEGUN in stdout  # the account's shell has run the command of hpc-onboard
    stdout, stderr = stdout.replace(payload.BEGUN, ""), ssh_words.drop_debug_lines(stderr.replace(payload.BEGUN, ""))
    if payload.NO_PYTHON in stdout:
        tried = harmless(stdout.partition(payload.NO_PYTHON)[2].strip().replace("\n", "; "), 2000)
        return f"no Python 3.6 or newer was found. Tried: {tried}. {PYTHON_ADVICE}"
    if code == payload.READ_BY_SHELL:
        return f"a start-up file of the account starts another shell, for example with exec. {advice}"
    if code == payload.INCOMPLETE:
        return f"the input was incomplete: a start-up file reads standard input, or the connection was lost. {advice}"
    printed = harmless((stderr.strip() or stdout.strip())[-300:].replace("\n", " | "))
    output = f". Output: {printed}" if printed else ""
    if not was_started and code != SSH_ERROR:
        return f"the session ended without an answer from the account (exit code {code}). {ENDED_EARLY}{output}"
    return f"the session ended without an answer from the account (exit code {code}). {advice}{output}"
