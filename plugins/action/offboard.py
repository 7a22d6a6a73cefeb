# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of offboard.yml: show what hpc-onboard created on an account, ask, or remove it in one SSH session.

The receipt is the record of what hpc-onboard created, with a note for each resource. It is on the account, and this
machine has a copy. The documentation is in plugins/modules/offboard.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible import context
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import offboarding
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.delivery import deliver
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.result import CHANGES
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import DeclaredResources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import prompt
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.connection import Variables
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.answer import Notes
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import AccountResult, PartResult

IS_AT_TERMINAL = prompt.is_at_terminal()  # here, because the processes of the tasks have no terminal
SHOWN = "previewed"
"""The variable in which playbooks/offboard.yml registers the result of the part show, for each account."""
SHOWN_NAMES = "preview_names"
"""The variable in which playbooks/offboard.yml registers which short names for ssh would be removed."""
DONE: PartResult = {"kind": "offboard_part", "changed": False}  # of a part that has nothing to do or report


class ActionModule(AccountAction):
    """hpc.onboard.offboard"""

    ARGUMENTS = {
        "part": {"type": "str", "choices": ["settings", "show", "ask", "account"], "default": "account"},
        "capabilities": {"type": "list", "elements": "str", "default": list(ROLES)},
        "resources": {"type": "list", "elements": "dict", "default": []},
        "only": {"type": "str", "default": "everything", "choices": ["everything", "undeclared"]},
        "seconds": {"type": "int", "default": 30},
        "wait": {"type": "int", "default": 3600},
    }

    def open_session(self, variables: Variables | None, arguments: Arguments) -> AccountSession:
        """Return the session; the part show only previews. variables: Ansible's. arguments: of the task."""
        return AccountSession(self, variables, is_preview=arguments["part"] == "show")

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Check the settings, preview the removal, ask once for all accounts, or remove an account's resources.

        session: the task's account; session.value returns the value of an Ansible variable. arguments: of the task. The
        result has "cancelled" if the user has not agreed.
        """
        part = arguments["part"]
        if part == "account":
            return offboard_account(session, arguments)
        agreement, variables = offboarding.AGREEMENT, session.variables
        if not agreement.is_needed(variables, session.value):  # no question is necessary
            return DONE
        if part == "show":  # a failure is reported later, by the part account
            return {**offboard_account(session, arguments), "kind": "offboard_shown", "changed": False, "failed": False}
        if part == "settings" and IS_AT_TERMINAL:  # the part ask will ask the user
            return DONE
        answer = None  # without a question, the user must have agreed on the command line
        if part == "ask":
            if not is_anything_shown(variables):
                return DONE
            answer = prompt.ask_to_agree(agreement.question)
        is_given = agreement.is_given(answer, variables, session.value, context.CLIARGS)
        return DONE if is_given else {**DONE, "cancelled": True}

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the failed result of a part. The parts settings and ask are about all accounts. message: of the error.

        session: not used.
        """
        kind = DONE["kind"] if arguments["part"] in ("settings", "ask") else "account"
        return {"kind": kind, "failed": True, "msg": message}


def offboard_account(session: AccountSession, arguments: Arguments) -> AccountResult:
    """Remove the resources of the roles that the task names, and those in the receipt that are no longer declared.

    If the argument "only" is "undeclared", remove only resources that are no longer declared. In the part show and in
    check mode, only preview the removal. Raise AccountError for an unknown setting.

    The first plan is made from this machine's copy of the receipt. The account answers with its own receipt. If the
    account's receipt contains more (the answer to an onboarding was lost, or another machine has onboarded the
    account), the rest is removed in a second session.
    """
    offboarding.AGREEMENT.check_names(session.variables)
    declared = session.collect(arguments["capabilities"], arguments["resources"], tolerated=(AccountError,))
    roles, includes_declared = session.select(arguments["capabilities"]), arguments["only"] == "everything"
    chosen = declared.of_roles(roles) if includes_declared else DeclaredResources(resources=[], notes=[], refused={})
    # the resources of a role with invalid settings stay, unless the role is chosen: then all in the receipt are removed
    refused_roles = declared.refused.keys() - chosen.refused.keys()

    def plan_removal(notes: Notes) -> list[PlanEntry]:
        """Return the plan that removes the chosen resources. notes: of a receipt."""
        return offboarding.plan_removal(declared.resources, chosen.resources, notes, session.cluster, refused_roles)

    def plan_rest(notes: Notes) -> list[PlanEntry]:
        """Return the second plan, from the account's own receipt; empty if the first plan was complete."""
        plan = plan_removal(notes)
        return plan if offboarding.has_more(plan, first_plan) else []

    notes = receipts.read_notes(session.name, bool(session.sandbox))
    first_plan = plan_removal(notes)
    # "only_made": what hpc-onboard did not create for this cluster alone stays
    settings = {"seconds": arguments["seconds"], "only_made": True, "notes": notes}
    if includes_declared and len(roles) == len(ROLES):  # the whole account is offboarded
        settings["engine"] = "drop"  # the account does not keep hpc-onboard's program for later runs
    to_remove = DeclaredResources(first_plan, notes=offboarding.make_refusal_notes(chosen), refused={})
    return deliver(session, to_remove, wait=arguments["wait"], settings=settings, plan_rest=plan_rest)


def is_anything_shown(variables: Variables) -> bool:
    """Return True if the part show has found something to remove, for the accounts that are still in the play.

    variables: Ansible's, with those of all hosts in "hostvars".
    """
    results = (variables["hostvars"][host].get(SHOWN) or {} for host in variables["ansible_play_hosts"])
    outcomes = (outcome for result in results for outcome in result.get("outcomes", ()))
    removes_names = (variables.get(SHOWN_NAMES) or {}).get("changed", False)
    return removes_names or any(outcome["status"] in CHANGES for outcome in outcomes)
