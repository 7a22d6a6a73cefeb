# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of an audit: the look at one account, or what is done on this machine alone before it and after it.

The documentation is in plugins/modules/audit.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible import __version__, context
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import watches
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import prepared, unmeasured
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer, payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import (
    AccountSession,
    Variables,
    prepare,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES, ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.finding import Row
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import (
        AuditAccount,
        AuditReported,
        AuditSettings,
        Refusal,
    )

TROUBLE = (AccountError, StateError, VersionError, answer.NoAnswer)
BEGUN = time.monotonic()
EVERYTHING = {**PLACES, **payload.places(watches.KINDS)}
ARGUMENTS = {
    "part": {"type": "str", "choices": ["settings", "account", "report"], "required": True},
    "capabilities": {"type": "list", "elements": "str", "default": list(ROLES)},
    "resources": {"type": "list", "elements": "dict", "default": []},
    "seconds": {"type": "int", "default": 30},
}

prepare()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.audit"""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Take the part."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        session = AccountSession(self, task_vars, EVERYTHING)
        if arguments["part"] != "account":
            return self._here(arguments["part"], session)
        try:
            session.connection.ask_nobody()  # it runs from cron
            row = _look(session, arguments)
        except AnsibleConnectionFailure as error:
            row = unmeasured(session.variables, session.connection.failure(error).text)
        except TROUBLE as error:
            row = unmeasured(session.variables, str(error))
        found: AuditAccount = {"kind": "audit_account", "changed": False, "audit": row}
        return {**found, "sandbox": session.sandbox["root"]} if session.sandbox else found

    def _here(self, part: str, session: AccountSession) -> AuditSettings | AuditReported | Refusal:
        """What is done on this machine alone."""
        from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import run as _audit_run  # once a run

        if part == "settings":
            return _audit_run.prepared(session.variables, session.value)
        called = _audit_run.Called(context.CLIARGS, __version__)
        return _audit_run.reported(session.variables, session.value, called, self._display.warning, BEGUN)


def _look(session: AccountSession, arguments: Mapping[str, Any]) -> Row:
    """Look at the account: what is declared for it, what is not any more, and what is only watched."""
    seen = prepared(session, arguments["capabilities"], arguments["resources"])
    wishes = {"work": "examine", "seconds": arguments["seconds"], "receipt": True}
    conversation = Conversation(session, seen.entries, wishes)
    return seen.row(conversation.outcomes(0), conversation)
