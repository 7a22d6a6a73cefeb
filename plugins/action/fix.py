# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of fix.yml: show the offered fixes, ask, apply them to an account and audit it again, or report.

The documentation is in plugins/modules/fix.py.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible import __version__, context
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import audit_checks, fix_run, offered_fixes
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import plan_audit, unmeasured_account
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.run import AnsibleCall
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import collect_places
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import prompt
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import FixAccount

STARTED = time.monotonic()  # of the run, because Ansible imports this module before the first task


class ActionModule(AccountAction):
    """hpc.onboard.fix"""

    PLACES = collect_places(audit_checks.KINDS, offered_fixes.KINDS)
    ARGUMENTS = {
        "part": {"type": "str", "choices": ["show", "ask", "account", "report"], "required": True},
        "capabilities": {"type": "list", "elements": "str", "default": list(ROLES)},
        "resources": {"type": "list", "elements": "dict", "default": []},
        "seconds": {"type": "int", "default": 30},
    }

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Run the part that the task names. Only the part account connects to an account.

        session: the task's account; session.value returns the value of an Ansible variable. arguments: of the task.
        """
        call = AnsibleCall(options=context.CLIARGS, version=__version__)
        if arguments["part"] == "show":
            return fix_run.show_fixes(session.variables, session.value, call)
        if arguments["part"] == "report":
            return fix_run.report_fixes(session.variables, session.value, call, session.warn, STARTED)
        if arguments["part"] == "account":
            return self._fix_account(session, arguments)
        return fix_run.ask_to_fix(session.variables, session.value, call, prompt.ask_to_agree)  # the part ask

    def _fix_account(self, session: AccountSession, arguments: Arguments) -> FixAccount:
        """Apply the offered fixes, or preview them, and audit the account again in the same SSH session.

        session: of the account. arguments: of the task. The result has the outcomes of the fixes, and the row of the
        account in the audit's report.
        """
        # on all accounts of the run
        offered = offered_fixes.find_fixable_findings(session.variables, options=context.CLIARGS)
        planned_fixes = offered_fixes.plan_fixes(offered, session.name)
        result: FixAccount = {"kind": "fix_account", "changed": False, "audit": None, "outcomes": []}
        try:
            plan = plan_audit(session, arguments["capabilities"], arguments["resources"])
            # examine: the audit only reads; seconds: for one resource; receipt: the account sends its receipt, too
            settings = {"work": "examine", "seconds": arguments["seconds"], "receipt": True}
            # the first entries of the plan are fixes, which change the account unless in check mode
            fix_settings = {"fixes": len(planned_fixes), "fixes_work": session.work} if planned_fixes else {}
            conversation = Conversation(session, [*planned_fixes, *plan.entries], {**settings, **fix_settings})
            outcomes = conversation.fetch_outcomes(wait=0)
            result["outcomes"] = outcomes[: len(planned_fixes)]
            result["audit"] = plan.build_row(outcomes[len(planned_fixes) :], conversation)
        except AnsibleConnectionFailure as error:
            result["audit"] = unmeasured_account(session.variables, session.connection.explain_failure(error).text)
        except self.ERRORS as error:  # the outcomes of the fixes are still reported
            result["audit"] = unmeasured_account(session.variables, str(error))
        # "extra": the fix removes what should not exist, or would remove it in check mode
        result["changed"] = any(outcome["status"] == "extra" for outcome in result["outcomes"])
        return {**result, "sandbox": session.sandbox["root"]} if session.sandbox else result
