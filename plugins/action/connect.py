# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log in to an account, ask the user for input if needed, and keep the session.

The SSH session that stays open is shared by later connections, through a socket. An AccountSession gives access to one
account: its variables and its connection.

The documentation is in plugins/modules/connect.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.open_sessions import may_be_shared, socket_path
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import login_check, renewing, ssh_login
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.login_diagnosis import FailedLogin
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.questions import make_prompts
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.terminal import find_terminal
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.unattended import LoginQuestion
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.connection import Variables
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import LoginResult
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import ssh_arguments
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.prompt import NotAnswered, NoTerminal, ask

TERMINAL = find_terminal()  # here, because the processes of the tasks have no terminal
State = Literal["unasked", "each_time", "open", "opened", "entered", "renewed", "closed", "ended", "refused"]
"""The state of a login. unasked: no ssh is used. each_time: the site forbids shared sessions. open, opened: a session,
of an earlier run or of this run. entered: without a session. renewed: the credential was renewed. closed: no login
was tried, because no terminal was available or no program may log in. ended: no login was
tried, because the credential has expired. refused: the login failed."""


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.connect"""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Log in to the account, and return the result of the task.

        tmp: of Ansible, not used. task_vars: Ansible's variables of the account.
        """
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec({"ahead": {"type": "bool", "default": False}})
        is_ahead = arguments["ahead"]  # the login comes before other work of the same run
        result = self._log_in(task_vars, is_ahead)
        if is_ahead:
            result["kind"] = "login_before"
        if "msg" in result:  # the login failed, so the other work of the run skips an unreachable account
            result["unreachable" if is_ahead else "failed"] = True
        return result

    def _log_in(self, task_vars: Variables | None, is_ahead: bool) -> LoginResult:
        """Log in, and return the result, also of a login that is refused.

        task_vars: Ansible's variables of the account. is_ahead: see log_in.
        """
        session = AccountSession(self, task_vars)
        if session.sandbox or self._connection.transport != "ssh":  # no ssh is used
            return make_login_result("unasked")
        try:
            return log_in(session, is_ahead)
        except NoTerminal:
            return make_login_result("refused", reason=login_check.advise_connect(session.name))
        except NotAnswered:
            return make_login_result("refused", reason="you did not answer the login prompt")
        except AccountError as error:
            return make_login_result("refused", reason=str(error))
        except OSError as error:
            return make_login_result("refused", reason=login_check.explain_no_questions(error))


def log_in(session: AccountSession, is_ahead: bool) -> LoginResult:
    """Renew the account's certificate or ticket if needed, then log in unless a session is open.

    session: of the account. is_ahead: the work follows in the same run, so log in only if that needs the user. Return
    the result of the task. Raise NoTerminal, NotAnswered, AccountError.
    """
    variables = session.connection.variables
    if "by_hand" in variables["account"]:  # no program may log in
        return make_login_result("closed", login_check.advise_script(session.name))
    state: State = "entered"
    if "lapses" in variables["account"]:  # the certificate or ticket has expired, or expires soon
        credential_state, reason = renewing.renew_credential(variables, TERMINAL, ask)
        if credential_state == "ended":
            return make_login_result("ended", reason)
        state = "renewed" if credential_state == "renewed" else state
    # of the session that hpc-onboard opens; None for a login that needs no shared session
    socket = session.connection.control_socket
    if socket and ssh_login.is_session_open(socket):
        return make_login_result("open")
    if is_ahead and socket is None:  # the work logs in itself
        return make_login_result(state)
    if socket or session.connection.asks_each_time:  # the login asks the user
        return log_in_interactively(session, variables)
    error_output, questions = ssh_login.connect_unattended(ssh_arguments(variables, session.name))
    if not error_output:  # the login succeeded without the user
        return make_login_result("entered")
    if questions and TERMINAL:  # the login has to ask the user, which was unknown until now
        return log_in_interactively(session, variables)
    return make_login_failure(session, error_output, questions)


def log_in_interactively(session: AccountSession, variables: Variables) -> LoginResult:
    """Log in and ask the user. Keep the session if the site allows shared sessions. Return the result of the task.

    variables: Ansible's, of the session's account.
    """
    if not TERMINAL:
        if session.connection.control_socket is None:  # the site forbids shared sessions
            return make_login_result("closed", login_check.advise_terminal())
        return make_login_result("closed", login_check.advise_connect(session.name))
    arguments = ssh_arguments(variables, session.name)
    ask_user, show_text = make_prompts(variables)
    if not may_be_shared(variables):
        # runs only `true`, as a test of the login; the output is empty if the login succeeded
        error_output = ssh_login.connect([*arguments, "true"], ask_user, show_text)
        return make_login_failure(session, error_output) if error_output else make_login_result("each_time")
    socket = session.connection.control_socket or str(socket_path(arguments))
    hours = ssh_login.read_session_hours(variables["cluster"].get("auth") or {})
    error_output = ssh_login.open_session(arguments, socket, hours, ask_user, show_text)
    return make_login_failure(session, error_output) if error_output else make_login_result("opened")


def make_login_failure(session: AccountSession, output: str, questions: Sequence[LoginQuestion] = ()) -> LoginResult:
    """Return the result of a login that failed. output: of ssh. questions: prompts of ssh that had no answer."""
    failed_login = FailedLogin(session.name, session.connection.variables)
    return make_login_result("refused", failed_login.explain(output, questions))


def make_login_result(state: State, reason: str = "") -> LoginResult:
    """Return the result of the task. reason: why no session was opened, or empty. With a reason, the task fails."""
    result: LoginResult = {"kind": "login", "changed": False, "state": state}
    return {**result, "msg": reason} if reason else result
