# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of probe.yml: inspect one account, or write profiles of clusters.

The documentation is in plugins/modules/probe.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import collect_places
from ansible_collections.hpc.onboard.plugins.plugin_utils._probe import account_probe, probe_run
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import prompt
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession

IS_AT_TERMINAL = prompt.is_at_terminal()  # here, because the processes of the tasks have no terminal


class ActionModule(AccountAction):
    """hpc.onboard.probe"""

    PLACES = collect_places(account_probe.KINDS)
    ARGUMENTS = {
        "part": {"type": "str", "choices": ["settings", "account", "write"], "required": True},
    }

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Run the part that the task names. Only the part account connects to an account.

        session: the task's account; session.value returns the value of an Ansible variable. arguments: of the task.
        """
        if arguments["part"] == "account":
            job_results = probe_run.read_jobs(session.variables, session.value)  # of a test job on this account
            return account_probe.probe_account(session, job_results)
        if arguments["part"] == "write":
            ask = prompt.ask_to_agree if IS_AT_TERMINAL else None  # None: the user cannot be asked
            return probe_run.store_and_write(session.variables, session.value, ask)
        probe_run.read_settings(session.variables, session.value)  # raises AccountError for an invalid setting
        return probe_run.NOTHING  # the part settings has no result

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the failed result of a part. Only the part account is about an account.

        message: of the error. session: not used.
        """
        kind = "account" if arguments["part"] == "account" else probe_run.NOTHING["kind"]
        return {"kind": kind, "failed": True, "msg": message}
