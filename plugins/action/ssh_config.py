# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of a run that keeps the names of all accounts for ssh on this machine.

The documentation is in plugins/modules/ssh_config.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from ansible import context
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import offboard_question
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.result import diffs
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import prompt
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config.texts import FILE

IS_AT_TERMINAL = prompt.is_at_terminal()  # the processes of the tasks have no terminal any more
ARGUMENTS = {
    "part": {"type": "str", "choices": ["settings", "show", "ask", "keep"], "default": "keep"},
    "state": {"type": "str", "choices": ["present", "absent", "offboarded"]},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.ssh_config"""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: Mapping[str, Any] | None = None) -> Mapping[str, object]:
        """Take the part, and show what differs where that is asked for."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        if arguments["state"] == "offboarded" and not os.path.exists(os.path.expanduser(FILE)):
            return {"kind": "ssh_config_part", "changed": False}
        found = self._taken(arguments["part"], arguments["state"], task_vars or {})
        if self._task.diff and "outcome" in found:
            found["diff"] = diffs([found["outcome"]])
        return found

    def _taken(self, part: str, state: str | None, variables: Mapping[str, Any]) -> dict[str, Any]:
        """What came of the part."""
        from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import run  # offboarding has few names

        def value(name: str) -> Any:
            return self._templar.template(variables[name]) if name in variables else None

        if part == "settings":
            return {**run.begun(variables, value, context.CLIARGS, IS_AT_TERMINAL)}
        if part == "ask":
            return {**run.asked(variables, value, context.CLIARGS, partial(prompt.answered, nothing=run.NOTHING))}
        asks = offboard_question.asks if state == "offboarded" else run.asks
        try:
            if part == "show" and not asks(variables, value):
                return {**run.DONE}
            foresees = part == "show" or bool(self._task.check_mode)
            keep = partial(run.kept, state=state) if state != "offboarded" else run.without
            found: dict[str, Any] = {**keep(variables, value, foresees=foresees)}
        except AccountError as error:
            found = {**run.refused(error)}
        if part == "show" and state == "offboarded" and found.get("failed"):
            return {**run.DONE}  # it must not keep anything on the accounts; the last part says it
        return found
