# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shared trip: what the roles declare goes to the account as one plan, and its outcomes come back.

The only place where a secret's name becomes its value. The documentation is in plugins/modules/converge.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils import _answer, _human_steps, _payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._declared import Declared, collect, prepare_settings, selected
from ansible_collections.hpc.onboard.plugins.plugin_utils._fingerprints import local_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._keys import SESSION
from ansible_collections.hpc.onboard.plugins.plugin_utils._plan import CLASSES, Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._result import diffs, result

# Every account is a forked process; what is made here, before the forks, is made once.
prepare_settings()
_payload.engine(tuple(sorted(CLASSES.items())))

ARGUMENTS = {
    "capabilities": {"type": "list", "elements": "str", "default": []},
    "resources": {"type": "list", "elements": "dict", "default": []},
    "seconds": {"type": "int", "default": 30},
}


class ActionModule(ActionBase):  # type: ignore[misc]
    """hpc.onboard.converge"""

    TRANSFERS_FILES = False
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Declare, check, send, and turn the answer into a result."""
        super().run(tmp, task_vars)
        variables: Mapping[str, Any] = task_vars or {}
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        try:
            declared = self._declared(arguments, variables)
            plan = Plan.of(declared.resources, lambda name: self._key(name, variables))
            answer = self._answer(plan, arguments["seconds"], variables)
            outcomes = plan.merged(answer["outcomes"])
        except AnsibleConnectionFailure as error:
            name = variables.get("inventory_hostname", "it")
            missed = {"unreachable": True, "msg": _answer.not_reached(str(error), name)}
            return {**missed, **_human_steps.of_account(variables, missed)}
        except (AccountError, _answer.NoAnswer) as error:
            return {"failed": True, "msg": str(error)}
        outcome = result(outcomes, declared.notes, self._task.check_mode)
        outcome.update(_human_steps.of_account(variables, outcome))
        sandbox = self._sandbox(variables)
        if sandbox:
            outcome["sandbox"] = sandbox["root"]
        if self._task.diff:
            outcome["diff"] = diffs(outcome["outcomes"])
        return outcome

    def _declared(self, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> Declared:
        names = arguments["capabilities"]
        if "always" in self._task.tags:
            names = selected(names, variables.get("ansible_run_tags", ["all"]), variables.get("ansible_skip_tags", []))
        without = (variables.get("account") or {}).get("without", [])
        return collect(names, without, arguments["resources"], self._value(variables))

    def _value(self, variables: Mapping[str, Any]) -> Any:
        """A function that gives the value of a variable of this account, or None where it has none."""

        def value(name: str) -> Any:
            return self._templar.template(variables[name]) if name in variables else None

        return value

    def _key(self, name: str, variables: Mapping[str, Any]) -> str:
        if self._sandbox(variables):
            return f"nvapi-not-a-real-key-{name}-of-the-sandbox"
        value, warnings = SESSION.value(name)
        for warning in warnings:
            self._display.warning(warning)
        return value

    def _sandbox(self, variables: Mapping[str, Any]) -> dict[str, Any] | None:
        return (variables.get("account") or {}).get("sandbox")

    def _answer(self, plan: Plan, seconds: int, variables: Mapping[str, Any]) -> dict[str, Any]:
        """One command over the connection. Nothing is sent for a plan that is empty."""
        if not plan.entries:
            return {"outcomes": []}
        document = {
            "resources": plan.entries,
            "check": bool(self._task.check_mode),
            "fingerprint_key": local_key(),
            "sandbox": self._sandbox(variables),
            "seconds": seconds,
        }
        preferred = self._templar.template(variables.get("ansible_python_interpreter"))
        if not preferred or str(preferred).startswith("auto"):
            preferred = None
        candidates = (variables.get("cluster") or {}).get("python", []) if variables.get("account") else []
        said = self._low_level_execute_command(
            _payload.command(preferred, candidates),
            sudoable=False,
            in_data=_payload.payload(document, CLASSES),
        )
        answer = _answer.parse(said["stdout"], said["stderr"], said["rc"], variables.get("inventory_hostname", "it"))
        if answer["error"]:
            raise _answer.NoAnswer(answer["error"])
        return answer
