# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of an audit: the look at one account, or what is done on this machine alone before it and after it.

The documentation is in plugins/modules/audit.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible import __version__, context
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.hpc.onboard.plugins.action.converge import AccountAction, Conversation
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import watches
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import Audited, unmeasured
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.declare import CAPABILITIES
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer, payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import ASKED, PLACES, Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError

TROUBLE = (AccountError, StateError, VersionError, answer.NoAnswer)
BEGUN = time.monotonic()
EVERYTHING = {**PLACES, **payload.places(watches.KINDS)}
payload.prepare(EVERYTHING, (*ASKED, *watches.KINDS))  # once: every account is a forked process


class ActionModule(AccountAction):
    """hpc.onboard.audit"""

    ARGUMENTS = {
        "part": {"type": "str", "choices": ["settings", "account", "report"], "required": True},
        "capabilities": {"type": "list", "elements": "str", "default": list(CAPABILITIES)},
        "resources": {"type": "list", "elements": "dict", "default": []},
        "seconds": {"type": "int", "default": 30},
    }
    PLACES = EVERYTHING

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Take the part."""
        super().run(tmp, task_vars)
        variables: Mapping[str, Any] = task_vars or {}
        _validation, arguments = self.validate_argument_spec(self.ARGUMENTS)
        if arguments["part"] != "account":
            return self._here(arguments["part"], variables)
        try:
            row = self._looked(arguments, variables)
        except AnsibleConnectionFailure as error:
            row = unmeasured(variables, answer.not_reached(str(error), str(variables.get("inventory_hostname", "it"))))
        except TROUBLE as error:
            row = unmeasured(variables, str(error))
        sandbox = self.sandbox_of(variables)
        return {"changed": False, "audit": row, **({"sandbox": sandbox["root"]} if sandbox else {})}

    def _here(self, part: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """What is done on this machine alone."""
        from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import run as _audit_run  # once a run

        if part == "settings":
            return _audit_run.prepared(variables, self.values_of(variables))
        called = _audit_run.Called(context.CLIARGS, __version__)
        return _audit_run.reported(variables, self.values_of(variables), called, self._display.warning, BEGUN)

    def _looked(self, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Look at the account: what is declared for it, what is not any more, and what is only watched."""
        self._ask_nobody()
        name = str(variables["inventory_hostname"])
        every = self.collect_all(arguments["capabilities"], arguments, variables)
        asked, watching = self.leave_tagged(arguments["capabilities"], variables), self._is_watching(variables)
        declared = every.of(asked)
        plan = Plan.of(declared.resources, lambda secret: self.key_of(secret, variables))
        kept = receipts.kept(name, bool(self.sandbox_of(variables)))
        seen = Audited(variables, declared, every.resources, plan, kept, asked, watching)
        account = Conversation(
            self, seen.entries, {"work": "examine", "seconds": arguments["seconds"], "receipt": True}, variables
        )
        return seen.row(account.outcomes(0), account)

    def _is_watching(self, variables: Mapping[str, Any]) -> bool:
        """Whether --tags and --skip-tags leave what no capability declares."""
        return bool(self.leave_tagged(["watch"], variables))

    def _ask_nobody(self) -> None:
        """Let ssh fail where it would ask a person: an audit runs from cron."""
        if self._connection.transport == "ssh":
            given = self._connection.get_option("ssh_extra_args") or ""
            self._connection.set_option("ssh_extra_args", f"{given} -o BatchMode=yes".strip())
