# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shared trip: what the roles declare goes to the account as one plan, and its outcomes come back.

The only place where a secret's name becomes its value. The documentation is in plugins/modules/converge.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.collect import (
    Declared,
    collect,
    prepare_settings,
    selected,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer as _answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import ASKED, PLACES, Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.result import diffs, result, unnoted
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import SESSION, current_version
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import account_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.run_memory import BOARD

# Every account is a forked process; what is made here, before the forks, is made once.
prepare_settings()
payload.prepare(PLACES, ASKED)

PLAIN_PATH = re.compile(r"/[A-Za-z0-9_@%+=:,./-]+")  # sftp would run what stands behind a line end


class AccountAction(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """What every action knows that has something to do with an account: what is declared, its keys, how it is asked."""

    TRANSFERS_FILES = False
    PLACES = PLACES
    _requires_connection = True

    def leave_tagged(self, names: list[str], variables: Mapping[str, Any]) -> list[str]:
        """What --tags and --skip-tags leave of these, in a task that is always run."""
        if "always" not in self._task.tags:
            return names
        return selected(names, variables.get("ansible_run_tags", ["all"]), variables.get("ansible_skip_tags", []))

    def collect_all(self, names: list[str], arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> Declared:
        """All that these capabilities declare for the account, and the resources that the task names itself."""
        without = (variables.get("account") or {}).get("without", [])
        return collect(names, without, arguments["resources"], self.values_of(variables))

    def values_of(self, variables: Mapping[str, Any]) -> Any:
        """A function that gives the value of a variable of this account, or None where it has none."""

        def value(name: str) -> Any:
            return self._templar.template(variables[name]) if name in variables else None

        return value

    def key_of(self, name: str, variables: Mapping[str, Any]) -> str:
        """The value of a key, from the keyring; a sandbox has a pretended one. Raises MissingKey."""
        if self.sandbox_of(variables):
            return f"nvapi-not-a-real-key-{name}-of-the-sandbox"
        value, warnings = SESSION.value(current_version(name))
        for warning in warnings:
            self._display.warning(warning)
        return value

    def sandbox_of(self, variables: Mapping[str, Any]) -> dict[str, Any] | None:
        """The folder that stands for the account's cluster, and what is pretended there; None for a real account."""
        return (variables.get("account") or {}).get("sandbox")

    def said(self, document: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Send a plan in one command over the connection, and give its answer."""
        preferred = self._templar.template(variables.get("ansible_python_interpreter"))
        if not preferred or str(preferred).startswith("auto"):
            preferred = None
        candidates = (variables.get("cluster") or {}).get("python", []) if variables.get("account") else []
        said = self._low_level_execute_command(
            payload.command(preferred, candidates),
            sudoable=False,
            in_data=payload.payload(document, self.PLACES),
        )
        answer = _answer.parse(said["stdout"], said["stderr"], said["rc"], variables.get("inventory_hostname", "it"))
        if answer["error"]:
            raise _answer.NoAnswer(answer["error"])
        return answer

    def take(self, local: str, remote: str) -> None:
        """Take a file of this machine to the account."""
        self._connection.put_file(local, remote)


class Conversation:
    """What is said with one account: the plan once, and then questions for as long as work goes on there."""

    def __init__(
        self,
        action: AccountAction,
        entries: list[dict[str, Any]],
        wishes: Mapping[str, Any],
        variables: Mapping[str, Any],
    ) -> None:
        """wishes: the work, the seconds for one resource, and whether there is a receipt (see _engine/engine.py)."""
        self.receipt: dict[str, Any] | None = None
        self.seconds = 0.0  # that the account worked on it
        self._action = action
        self._entries = entries
        self._variables = variables
        self._plan = {
            "schema": "hpc.onboard/plan/1.0",
            "fingerprint_key": account_key(str(variables.get("inventory_hostname", ""))),
            "cluster": str((variables.get("cluster") or {}).get("id", "")),
            "sandbox": action.sandbox_of(variables),
            **wishes,
        }

    def outcomes(self, wait: int) -> list[dict[str, Any]]:
        """What came of the plan, when nothing of it is under way any more. Nothing is sent for one that is empty."""
        if not self._entries:
            return []
        outcomes = self._asked(range(len(self._entries)))
        if self._plan["work"] != "reconcile" or not any(outcome["progress"] for outcome in outcomes):
            return outcomes
        from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.job_wait import settled  # few runs wait

        ended = settled(outcomes, wait, self._asked, self._bring, self._show)
        gone = [position for position, one in enumerate(outcomes) if one["progress"] and not one["after"]]
        if gone:
            self._asked(gone)  # so that it is noted no more
        return ended

    def _show(self, progress: Mapping[str, Any] | None) -> None:
        BOARD.put(str(self._variables.get("inventory_hostname", "it")), progress)

    def _asked(self, positions: Iterable[int], follow: float = 0) -> list[dict[str, Any]]:
        document = {**self._plan, "resources": [self._entries[position] for position in positions]}
        if follow:
            document = {**document, "work": "follow", "follow_seconds": follow}
        answer = self._action.said(document, self._variables)
        self.receipt = answer["receipt"] or self.receipt
        self.seconds += answer["seconds"]
        answered: list[dict[str, Any]] = answer["outcomes"]
        return answered

    def _bring(self, position: int, wants: Mapping[str, str]) -> dict[str, Any]:
        """Fetch on this machine what the account cannot, take it there, and start the work anew."""
        installer = self._entries[position]["options"]["installers"].values()
        if not any((wants["url"], wants["sha256"]) == (one["url"], one["sha256"]) for one in installer):
            raise AccountError("the account asks for a file that it was not sent for: it was not brought")
        from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.downloads import fetched

        if not PLAIN_PATH.fullmatch(wants["path"]):
            raise AccountError("the account names a path that no file can be taken to: it was not brought")
        step = {"step": "fetching the installer for it", "unit": "bytes"}
        file = fetched(
            wants["url"], wants["sha256"], lambda done, total: self._show({**step, "done": done, "total": total})
        )
        self._show({"step": "taking the installer there", "done": None, "total": None, "unit": "steps"})
        self._action.take(str(file), wants["path"])
        return self._asked([position])[0]


class ActionModule(AccountAction):
    """hpc.onboard.converge"""

    ARGUMENTS: dict[str, dict[str, Any]] = {
        "capabilities": {"type": "list", "elements": "str", "default": []},
        "resources": {"type": "list", "elements": "dict", "default": []},
        "seconds": {"type": "int", "default": 30},
        "wait": {"type": "int", "default": 3600},
    }

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Declare, check, send, and turn the answer into a result."""
        super().run(tmp, task_vars)
        variables: Mapping[str, Any] = task_vars or {}
        _validation, arguments = self.validate_argument_spec(self.ARGUMENTS)
        try:
            declared = self.declare(arguments, variables)
            plan = Plan.of(declared.resources, lambda name: self.key_of(name, variables))
            account = Conversation(self, plan.entries, self.work_of(arguments), variables)
            outcomes = plan.merged(account.outcomes(arguments["wait"]))
            outcomes += self._keep(account.receipt, variables)
        except AnsibleConnectionFailure as error:
            name = variables.get("inventory_hostname", "it")
            missed = {"unreachable": True, "msg": _answer.not_reached(str(error), name)}
            return {**missed, **_steps_left(variables, missed)}
        except (AccountError, _answer.NoAnswer) as error:
            return {"failed": True, "msg": str(error)}
        outcome = result(outcomes, declared.notes, self._task.check_mode)
        if SESSION.source:
            outcome["keyring"] = SESSION.source
        outcome.update(_steps_left(variables, outcome))
        sandbox = self.sandbox_of(variables)
        if sandbox:
            outcome["sandbox"] = sandbox["root"]
        if self._task.diff:
            outcome["diff"] = diffs(outcome["outcomes"])
        return outcome

    def work_of(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What is to be done with the plan."""
        work = "foresee" if self._task.check_mode else "reconcile"
        return {"work": work, "seconds": arguments["seconds"], "receipt": True}

    def _keep(self, receipt: Mapping[str, Any] | None, variables: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Keep what is noted on the account here, too; the outcome of a receipt that cannot be kept there."""
        if receipt is None:
            return []
        if receipt["problem"]:
            return [unnoted(receipt["problem"])]
        if not self._task.check_mode:
            name, sandbox = str(variables["inventory_hostname"]), bool(self.sandbox_of(variables))
            problem = receipts.keep(name, sandbox, receipt)
            if problem:
                self._display.warning(problem)
        return []

    def declare(self, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> Declared:
        """What the account is to have, as far as --tags and --skip-tags ask for it."""
        return self.collect_all(self.leave_tagged(arguments["capabilities"], variables), arguments, variables)


def _steps_left(variables: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """What only a person can do: open where the account was not reached, a thing failed, or an area is not known."""
    links = any(note["capability"] == "storage_links" for note in found.get("notes", []))
    if not (found.get("unreachable") or found["failed"] or links):
        return {}
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import manual_steps

    return manual_steps.of_account(variables, found)
