# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log in to an account, asking the user if it is needed, and keep the session.

The documentation is in plugins/modules/connect.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.open_sessions import may_be_shared, socket_of
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import login_advice, renewing, ssh_login
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.login_diagnosis import LoginDiagnosis
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.questions import of_account as questions_of
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.terminal import name_of_terminal
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.unattended import Question
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.connection import Variables
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import LoginResult
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import ssh_arguments
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.prompt import NotAnswered, NoTerminal, asked

TERMINAL = name_of_terminal()  # the processes of the tasks have none any more
State = Literal["unasked", "each_time", "open", "opened", "entered", "renewed", "closed", "ended", "refused"]


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.connect"""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Open a session if the login asks the user and no session is open."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec({"ahead": {"type": "bool", "default": False}})
        found = self._connected(task_vars, arguments["ahead"])
        if arguments["ahead"]:
            found["kind"] = "login_before"
        if "msg" in found:
            found["unreachable" if arguments["ahead"] else "failed"] = True
        return found

    def _connected(self, task_vars: Variables | None, ahead: bool) -> LoginResult:
        session = AccountSession(self, task_vars)
        if session.sandbox or self._connection.transport != "ssh":
            return _result("unasked")
        try:
            return _entered(session, ahead)
        except NoTerminal:
            return _result("refused", login_advice.advice(session.name))
        except NotAnswered:
            return _result("refused", "the question was not answered")
        except AccountError as error:
            return _result("refused", str(error))


def _entered(session: AccountSession, ahead: bool) -> LoginResult:
    """Return what came of the account's certificate or ticket, and of a connection. Raises what a question raises."""
    variables = session.connection.variables
    if "by_hand" in variables["account"]:
        return _result("closed", login_advice.by_hand(session.name))
    state: State = "entered"
    if "lapses" in variables["account"]:
        found, why = renewing.renewed(variables, TERMINAL, asked)
        if found == "ended":
            return _result("ended", why)
        state = "renewed" if found == "renewed" else state
    path = session.connection.control_socket
    if path and ssh_login.is_open(path):
        return _result("open")
    if ahead and path is None:
        return _result(state)
    asks = path or "asks_each_time" in variables["account"]
    return _asked(session, variables) if asks else _tried(session, variables)


def _tried(session: AccountSession, variables: Variables) -> LoginResult:
    """Return what came of a connection in which nobody is asked; if a question is in its way, the user is asked."""
    why, questions = ssh_login.tried(ssh_arguments(variables, session.name))
    if not why:
        return _result("entered")
    if questions and TERMINAL:
        return _asked(session, variables)
    return _refused(session, why, questions)


def _asked(session: AccountSession, variables: Variables) -> LoginResult:
    """Return what came of a connection in which the user is asked. It stays as a session where the site allows that."""
    if not TERMINAL:
        has_session = session.connection.control_socket is not None
        return _result("closed", login_advice.advice(session.name) if has_session else login_advice.unshared())
    arguments, questions = ssh_arguments(variables, session.name), questions_of(variables)
    if not may_be_shared(variables):
        why = ssh_login.connect([*arguments, "true"], *questions)
        return _refused(session, why) if why else _result("each_time")
    path = session.connection.control_socket or str(socket_of(arguments))
    why = ssh_login.open_session(arguments, path, ssh_login.hours(variables["cluster"].get("auth") or {}), *questions)
    return _refused(session, why) if why else _result("opened")


def _refused(session: AccountSession, why: str, questions: Sequence[Question] = ()) -> LoginResult:
    return _result("refused", LoginDiagnosis(session.name, session.connection.variables).told(why, questions))


def _result(state: State, why: str = "") -> LoginResult:
    found: LoginResult = {"kind": "login", "changed": False, "state": state}
    return {**found, "msg": why} if why else found
