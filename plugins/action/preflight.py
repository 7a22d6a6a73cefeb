# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of a preflight: check the login to one account, or report on all accounts.

The documentation is in plugins/modules/preflight.py.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import audit_checks
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import login_check, ssh_login
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.login_diagnosis import FailedLogin
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import preflight
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.connection_failure import ConnectionFailure
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import PreflightAccount


class ActionModule(AccountAction):
    """hpc.onboard.preflight"""

    PLACES = {"quota": audit_checks.KINDS.places["quota"]}  # a preflight also checks the quotas
    ARGUMENTS = {"part": {"type": "str", "choices": ["settings", "account", "report"], "required": True}}

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Check the settings or one account, or report on all accounts.

        session: the task's account; session.value returns the value of an Ansible variable. arguments: of the task.
        """
        if arguments["part"] == "account":
            return check_login(session)
        if arguments["part"] == "settings":
            preflight.read_settings(session.variables, session.value)  # raises AccountError for an invalid setting
            return {"kind": "preflight_settings", "changed": False}
        report_time = datetime.now(UTC).isoformat(timespec="seconds")
        return preflight.report_accounts(session.variables, session.value, report_time)  # the part report

    def report_unreached(self, session: AccountSession, failure: ConnectionFailure) -> Result:
        """Return the state of an account that was not reached. failure: of its connection, with the output of ssh."""
        if failure.began:  # the command may have started, so the login worked
            return preflight.account_result("not_ready", failure.text)
        connection = session.connection
        login = FailedLogin(session.name, connection.variables)
        return preflight.explain_failure(failure.output, login, unanswered=connection.unanswered)

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the state of an account whose answer is unusable. The other parts fail only because of a setting.

        message: of the error. session: not used.
        """
        if arguments["part"] == "account":
            return preflight.account_result("not_ready", message)
        return {"kind": "preflight_settings", "failed": True, "msg": message}


def check_login(session: AccountSession) -> PreflightAccount:
    """Return the state of the account after a login. No login is tried if this machine knows that it would fail.

    The state is then "needs_person", because only the user can open a session or log in, or that of the credential.
    """
    connection = session.connection
    if connection.control_socket and not ssh_login.is_session_open(connection.control_socket):
        advice = login_check.advise_connect(session.name)  # the session that the login needs is not open
        return preflight.account_result("needs_person", text="", next_step=advice)
    advice = login_check.find_block(connection.variables, may_ask=False)
    if advice:  # an unusable certificate or ticket has its own state
        return preflight.check_credential(session.variables) or preflight.account_result(
            "needs_person", text="", next_step=advice
        )
    connection.refuse_questions()  # a preflight only reports that the login needs the user
    return preflight.check_account(session)
