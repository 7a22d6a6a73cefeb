# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of ssh_config.yml or offboard.yml: writes short names of all accounts to the user's ssh settings.

The parts settings and ask are about the user's agreement. The part show previews the change, and the part keep writes
it: the state present writes the names, absent removes all names, and offboarded removes those of offboarded accounts.
Without a state, the variable ssh_config_state applies, which is "present" by default.
The documentation is in plugins/modules/ssh_config.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ansible import context
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import offboarding
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.result import render_diffs
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import prompt
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import run
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config.texts import FILE

IS_AT_TERMINAL = prompt.is_at_terminal()  # here, because the processes of the tasks have no terminal
SHOWN = "preview_names"
"""The variable in which playbooks register the result of the part show."""
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
        """Run the part that the task names, and return its result.

        tmp: of Ansible, not used. task_vars: Ansible's variables.
        """
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        part, state = arguments["part"], arguments["state"]
        if state == "offboarded" and not os.path.exists(os.path.expanduser(FILE)):  # no names were written
            return run.DONE
        self._variables = task_vars or {}
        try:
            result = self._ask(part) if part in ("settings", "ask") else self._write(part, state)
        except AccountError as error:
            result = {"kind": run.DONE["kind"], "failed": True, "msg": str(error)}
        if part == "show" and state == "offboarded" and result.get("failed"):
            return run.DONE  # the error must not stop the offboarding of accounts; the part keep reports it
        if self._task.diff and "outcome" in result:
            result["diff"] = render_diffs([result["outcome"]])
        return result

    def _read_variable(self, name: str) -> Any:
        """Return the value of Ansible's variable of this name, with its templates resolved; None if it is not set."""
        return self._templar.template(self._variables[name]) if name in self._variables else None

    def _ask(self, part: str) -> dict[str, Any]:
        """Ask the user in the part ask, if names would change. In the part settings, check that the user can be asked.

        part: "ask" or "settings". The result has "cancelled" if the user does not agree. Raise AccountError without a
        terminal, unless the user has agreed on the command line.
        """
        agreement = run.AGREEMENT
        if not agreement.is_needed(self._variables, self._read_variable):  # no question is necessary
            return {**run.DONE}
        must_ask = part == "ask" and (self._variables.get(SHOWN) or {}).get("changed")
        cannot_ask_later = part == "settings" and not IS_AT_TERMINAL
        if not (must_ask or cannot_ask_later):
            return {**run.DONE}
        # without an answer, only the command line can agree
        answer = prompt.ask_to_agree(agreement.question) if must_ask else None
        is_given = agreement.is_given(answer, self._variables, self._read_variable, context.CLIARGS)
        return {**run.DONE} if is_given else {**run.DONE, "cancelled": True}

    def _write(self, part: str, state: str | None) -> dict[str, Any]:
        """Write the names, or remove those of offboarded accounts. Return the result of the task.

        The part show, and every part in check mode, only previews this. If the user will not be asked, the part show
        has nothing to show. state: see the module's docstring; None if the task sets no state.
        """
        agreement = offboarding.AGREEMENT if state == "offboarded" else run.AGREEMENT
        if part == "show" and not agreement.is_needed(self._variables, self._read_variable):
            return {**run.DONE}
        is_preview = part == "show" or bool(self._task.check_mode)
        if state == "offboarded":
            return {**run.remove_names(self._variables, self._read_variable, is_preview)}
        return {**run.update_names(self._variables, self._read_variable, state, is_preview)}
