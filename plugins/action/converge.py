# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shared trip: what the roles declare goes to the account as one plan, and its outcomes come back.

The module of each kind of resource comes here, too (meta/runtime.yml says so): it is a plan of one, and goes the same
way, so that its key is in no file on the account but its own. The documentation is in plugins/modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import (
    AccountSession,
    Variables,
    prepare,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.argument_spec import Spec, check
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import RefusedValue, plain
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import state_folder

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import AccountResult, OneResult

prepare()


def _agreed(session: AccountSession) -> dict[str, bool]:
    """Return what the user agreed to: that keys which are not in the keyring are replaced. Raises AccountError."""
    if not any(name.startswith("onboard_") for name in session.variables):
        return {}
    from ansible_collections.hpc.onboard.plugins.plugin_utils._input import extra_vars  # few replace

    readers = {"onboard_replace": extra_vars.truth}
    given = extra_vars.read("an onboarding", readers, session.variables, session.value)
    return {"replace": bool(given.get("onboard_replace"))}


ARGUMENTS: Spec = {
    "capabilities": {"type": "list", "elements": "str", "default": []},
    "resources": {"type": "list", "elements": "dict", "default": []},
    "seconds": {"type": "int", "default": 30},
    "wait": {"type": "int", "default": 3600},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.converge, and the module of each kind."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Declare, check, send, and turn the answer into a result."""
        super().run(tmp, task_vars)
        kind = self._task.action.rpartition(".")[2]
        is_module = kind in PLACES
        session = AccountSession(self, task_vars, become=is_module)
        try:
            return self._keep_one(kind, session) if is_module else self._converge(session)
        except AnsibleConnectionFailure as error:
            return session.unreached(error)
        except (AccountError, NoAnswer) as error:
            return {"kind": "account", "failed": True, "msg": str(error)}

    def _converge(self, session: AccountSession) -> AccountResult:
        arguments = self._arguments(ARGUMENTS)
        names = session.select(arguments["capabilities"])
        declared = session.collect(names, arguments["resources"], (RefusedValue,))
        if (state_folder() / "secrets").is_dir() and not session.sandbox:
            from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import reminders  # few rotate

            declared = reminders.left_alone(session.name, declared)
        wishes = {"seconds": arguments["seconds"], **_agreed(session)}
        return session.carry_out(declared, arguments["wait"], wishes)

    def _keep_one(self, kind: str, session: AccountSession) -> OneResult:
        """What the module of a kind does."""
        from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import one_resource  # roles need none

        arguments = self._arguments(one_resource.argument_spec(kind))
        entry = one_resource.entry(kind, arguments)
        wishes = {"work": session.work, "receipt": True, **one_resource.plan_settings(arguments)}
        outcome = Conversation(session, [entry], wishes).outcomes(one_resource.WAIT)[0]
        return one_resource.result({**outcome, "progress": None})

    def _arguments(self, spec: Spec) -> dict[str, Any]:
        """What the task says, checked. Raises AccountError."""
        checked = check(spec, plain(self._task.args))
        if checked.violations:
            from ansible_collections.hpc.onboard.plugins.plugin_utils._input.spec_sentences import sentence

            raise AccountError("\n".join(map(sentence, checked.violations)))
        return checked.values
