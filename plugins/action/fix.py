# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One part of fix.yml: show the offered fixes, ask, apply them to an account and audit it again, or report.

The documentation is in plugins/modules/fix.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ansible import __version__, context
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import offered_fixes, watches
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import prepared, unmeasured
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.run import Called
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer, payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import (
    AccountSession,
    Variables,
    prepare,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES, ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import prompt
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import FixAccount

TROUBLE = (AccountError, StateError, VersionError, answer.NoAnswer)
BEGUN = time.monotonic()
EVERYTHING = {**PLACES, **payload.places(watches.KINDS), **payload.places(offered_fixes.KINDS)}
ARGUMENTS = {
    "part": {"type": "str", "choices": ["show", "ask", "account", "report"], "required": True},
    "capabilities": {"type": "list", "elements": "str", "default": list(ROLES)},
    "resources": {"type": "list", "elements": "dict", "default": []},
    "seconds": {"type": "int", "default": 30},
}

prepare()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.fix"""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Take the part."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        session = AccountSession(self, task_vars, EVERYTHING)
        if arguments["part"] == "account":
            return self._fixed(session, arguments)
        from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import fix_run  # once a run

        called = Called(context.CLIARGS, __version__)
        if arguments["part"] == "show":
            return fix_run.shown(session.variables, session.value, called)
        if arguments["part"] == "report":
            return fix_run.reported(session.variables, session.value, called, self._display.warning, BEGUN)
        ask = partial(prompt.answered, nothing=fix_run.NOTHING)
        return fix_run.asked(session.variables, session.value, called, session.is_check_run, ask)

    def _fixed(self, session: AccountSession, arguments: Mapping[str, Any]) -> FixAccount:
        """Fix the account, or foresee it, and look at it again in the same trip."""
        offered = offered_fixes.entries(offered_fixes.of_run(session.variables, context.CLIARGS), session.name)
        found: FixAccount = {"kind": "fix_account", "changed": False, "audit": None, "outcomes": []}
        try:
            seen = prepared(session, arguments["capabilities"], arguments["resources"])
            wishes = {"work": "examine", "seconds": arguments["seconds"], "receipt": True}
            fixing = {"fixes": len(offered), "fixes_work": session.work} if offered else {}
            conversation = Conversation(session, [*offered, *seen.entries], {**wishes, **fixing})
            outcomes = conversation.outcomes(0)
            found["outcomes"] = outcomes[: len(offered)]
            found["audit"] = seen.row(outcomes[len(offered) :], conversation)
        except AnsibleConnectionFailure as error:
            found["audit"] = unmeasured(session.variables, session.connection.failure(error).text)
        except TROUBLE as error:
            found["audit"] = unmeasured(session.variables, str(error))
        found["changed"] = any(one["status"] == "extra" for one in found["outcomes"])
        return {**found, "sandbox": session.sandbox["root"]} if session.sandbox else found
