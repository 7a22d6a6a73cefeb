# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of adopt.yml: inspect one account, ask about resources that differ, or write the accounts file.

The documentation is in plugins/modules/adopt.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible import context
from ansible_collections.hpc.onboard.plugins.plugin_utils._adoption import adopt_run, inspection
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import collect_places
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import prompt
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession

IS_AT_TERMINAL = prompt.is_at_terminal()  # here, because the processes of the tasks have no terminal


class ActionModule(AccountAction):
    """hpc.onboard.adopt"""

    PLACES = collect_places(inspection.KINDS)
    ARGUMENTS = {
        "part": {"type": "str", "choices": ["settings", "account", "ask", "write"], "required": True},
    }

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Run the part that the task names. Only the part account connects to an account.

        session: the task's account; session.value returns the value of an Ansible variable. arguments: of the task.
        """
        ask = prompt.ask_to_agree
        if arguments["part"] == "account":
            return inspection.inspect_account(session)
        if arguments["part"] == "ask":  # without a terminal (None), resources that differ are skipped
            return adopt_run.ask_what_to_keep(session.variables, session.value, ask if IS_AT_TERMINAL else None)
        if arguments["part"] == "write":
            options = context.CLIARGS  # of Ansible's command line
            return adopt_run.write_accounts_file(session.variables, session.value, options, ask)
        adopt_run.AGREEMENT.settings(session.variables, session.value)  # raises AccountError for an invalid setting
        return adopt_run.NOTHING  # the part settings has no result

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the failed result of a part. Only the part account is about an account.

        message: of the error. session: not used.
        """
        kind = "account" if arguments["part"] == "account" else adopt_run.NOTHING["kind"]
        return {"kind": kind, "failed": True, "msg": message}
