# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of an audit: examine one account, or, on this machine alone, check the settings or write the report.

The documentation is in plugins/modules/audit.py.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible import __version__, context
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import audit_checks, run
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import plan_audit, unmeasured_account
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import collect_places
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.connection_failure import ConnectionFailure
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.finding import AuditRow
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import AuditAccount

STARTED = time.monotonic()  # of the run, because Ansible imports this module before the first task


class ActionModule(AccountAction):
    """hpc.onboard.audit"""

    PLACES = collect_places(audit_checks.KINDS)
    ARGUMENTS = {
        "part": {"type": "str", "choices": ["settings", "account", "report"], "required": True},
        "capabilities": {"type": "list", "elements": "str", "default": list(ROLES)},
        "resources": {"type": "list", "elements": "dict", "default": []},
        "seconds": {"type": "int", "default": 30},
    }

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Run the part that the task names. Only the part account connects to an account.

        session: the task's account; session.value returns the value of an Ansible variable. arguments: of the task.
        """
        if arguments["part"] == "settings":
            return run.check_settings(session.variables, session.value)
        if arguments["part"] == "report":
            call = run.AnsibleCall(options=context.CLIARGS, version=__version__)
            return run.report_audit(session.variables, session.value, call, session.warn, STARTED)
        session.connection.refuse_questions()  # an audit may run from cron
        plan = plan_audit(session, arguments["capabilities"], arguments["resources"])
        # examine: the account only reads; seconds: for one resource; receipt: the account sends its receipt, too
        settings = {"work": "examine", "seconds": arguments["seconds"], "receipt": True}
        conversation = Conversation(session, plan.entries, settings)
        outcomes = conversation.fetch_outcomes(wait=0)  # an audit starts no jobs for which it would wait
        return make_account_result(session, plan.build_row(outcomes, conversation))

    def report_unreached(self, session: AccountSession, failure: ConnectionFailure) -> Result:
        """Return the result of an account that was not reached. Its row has the reason: the report fails, not the task.

        failure: the failed connection, described in failure.text.
        """
        return make_account_result(session, unmeasured_account(session.variables, failure.text))

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the result of an account that could not be examined. message: the reason. arguments: not used."""
        return make_account_result(session, unmeasured_account(session.variables, message))


def make_account_result(session: AccountSession, row: AuditRow) -> AuditAccount:
    """Return the result of the part account, for a sandbox with its folder. row: of the account in the report."""
    result: AuditAccount = {"kind": "audit_account", "changed": False, "audit": row}
    return {**result, "sandbox": session.sandbox["root"]} if session.sandbox else result
