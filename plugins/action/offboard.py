# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes out of an account what converge has made there, in one trip.

The documentation is in plugins/modules/offboard.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ansible import context
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import offboard_question, offboarding
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import (
    AccountSession,
    Variables,
    prepare,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import Declared
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import prompt
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.answer import Notes
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import (
        AccountResult,
        OffboardPart,
        Refusal,
    )

prepare()
IS_AT_TERMINAL = prompt.is_at_terminal()  # the processes of the tasks have no terminal any more

ARGUMENTS = {
    "part": {"type": "str", "choices": ["settings", "show", "ask", "account"], "default": "account"},
    "capabilities": {"type": "list", "elements": "str", "default": list(ROLES)},
    "resources": {"type": "list", "elements": "dict", "default": []},
    "only": {"type": "str", "default": "everything", "choices": ["everything", "undeclared"]},
    "seconds": {"type": "int", "default": 30},
    "wait": {"type": "int", "default": 3600},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.offboard"""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Take out what was asked for and is ours."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        session = AccountSession(self, task_vars, foresees=arguments["part"] == "show")
        try:
            return PARTS[arguments["part"]](session, arguments)
        except AnsibleConnectionFailure as error:
            return session.unreached(error)
        except (AccountError, NoAnswer) as error:
            return {"kind": "account", "failed": True, "msg": str(error)}


def _offboarded(session: AccountSession, arguments: Mapping[str, Any]) -> AccountResult:
    """Take out what was asked for, or what is noted and declared no more.

    What is noted is known from this machine's copy. The account tells what it has noted itself: where that is more (the
    answer to an onboarding was lost, or another machine onboarded), the rest is taken out in a second session.
    """
    offboard_question.check_names(session.variables)
    every = session.collect(arguments["capabilities"], arguments["resources"], (AccountError,))
    selected = session.select(arguments["capabilities"]) if arguments["only"] == "everything" else []
    chosen = every.of(selected) if arguments["only"] == "everything" else Declared([], [], {})
    staying = every.refused.keys() - chosen.refused.keys()

    def going(notes: Notes) -> list[PlanEntry]:
        return offboarding.to_take_out(every.resources, chosen.resources, notes, session.cluster, staying)

    def rest(notes: Notes) -> list[PlanEntry]:
        further = going(notes)
        return further if offboarding.has_more(further, first) else []

    kept = receipts.read_notes(session.name, bool(session.sandbox))
    first = going(kept)
    wishes = {"seconds": arguments["seconds"], "only_made": True, "notes": kept}
    return session.carry_out(Declared(first, offboarding.refusals(chosen), {}), arguments["wait"], wishes, rest)


def _shown(session: AccountSession, arguments: Mapping[str, Any]) -> AccountResult | OffboardPart:
    """What would be taken out, for the person who is asked next; nothing where nobody is.

    What cannot be foreseen fails nothing yet: the rest of the account is taken out all the same, and then it is told.
    """
    if not offboard_question.asks(session.variables, session.value):
        return offboard_question.DONE
    found = _offboarded(session, arguments)
    return {**found, "kind": "offboard_shown", "changed": False, "failed": False}


def _begun(session: AccountSession, _arguments: Mapping[str, Any]) -> OffboardPart | Refusal:
    """What a person wants of this run is read, once for all accounts."""
    return offboard_question.begun(session.variables, session.value, context.CLIARGS, IS_AT_TERMINAL)


def _asked(session: AccountSession, _arguments: Mapping[str, Any]) -> OffboardPart | Refusal:
    """The person is asked, once for all accounts."""
    ask = partial(prompt.answered, nothing=offboard_question.NOTHING)
    return offboard_question.asked(session.variables, session.value, context.CLIARGS, ask)


PARTS = {"settings": _begun, "show": _shown, "ask": _asked, "account": _offboarded}
