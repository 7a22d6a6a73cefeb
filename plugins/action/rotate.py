# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of a rotation: the lead, on this machine alone, or one account's share of the step that the lead named.

What a rotation is and what comes next stands in plugin_utils/_rotation.py. The documentation is in
plugins/modules/rotate.py.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ansible import context
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.hpc.onboard.plugins.action.converge import ActionModule as Converge
from ansible_collections.hpc.onboard.plugins.action.converge import Conversation
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils import _answer, _lead, _targets
from ansible_collections.hpc.onboard.plugins.plugin_utils._durable import StateError
from ansible_collections.hpc.onboard.plugins.plugin_utils._ledger import Ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._outside import Unanswered, Unreachable
from ansible_collections.hpc.onboard.plugins.plugin_utils._plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import RotationError, Step
from ansible_collections.hpc.onboard.plugins.plugin_utils._sidecar import Sidecar
from ansible_collections.hpc.onboard.plugins.plugin_utils._steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._world import Account, record_key

ARGUMENTS = {
    "part": {"type": "str", "choices": ["lead", "account"], "required": True},
    "secret": {"type": "str", "default": "ngc"},
    "lead": {"type": "dict", "default": {}},
    "last": {"type": "bool", "default": False},
}
TROUBLE = (AccountError, RotationError, StateError, VersionError, _answer.NoAnswer)
NEVER_THERE = ("refused", "timed out", "No route", "not resolve", "Permission denied", "unreachable")
STDIN = b""
if any("rotate_key_file=-" in str(given) for given in context.CLIARGS.get("extra_vars") or ()):
    STDIN = sys.stdin.buffer.read(10_000)  # here, in the main process: the processes of a run have none


class ActionModule(Converge):
    """hpc.onboard.rotate"""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Take the part."""
        super(Converge, self).run(tmp, task_vars)
        variables: Mapping[str, Any] = task_vars or {}
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        try:
            if arguments["part"] == "lead":
                return self._lead(arguments, variables)
            return self._share(arguments["secret"], arguments["lead"], variables)
        except TROUBLE as error:
            return {"failed": True, "msg": str(error)}

    # The lead

    def _lead(self, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        secret = arguments["secret"]
        hosts = [str(host) for host in variables["ansible_play_hosts_all"]]
        known = {host: self._files(secret, variables["hostvars"][host]) for host in hosts}
        targets = [file.target for files in known.values() for file in files]
        wishes = {
            name: self._templar.template(variables[name]) for name in _lead.WISHES if variables.get(name) is not None
        }
        lead = _lead.Lead(secret, targets, wishes, STDIN)
        if self._task.check_mode:
            return lead.foreseen()
        return lead.taken(arguments["lead"], arguments["last"])

    def _files(self, secret: str, variables: Mapping[str, Any]) -> list[_targets.File]:
        account = variables.get("account") or {}
        if account.get("sandbox"):
            return []  # its keys are pretended
        name = variables.get("inventory_hostname", "")
        return _targets.files(str(name), secret, account.get("without", []), self._value(variables))

    # An account

    def _share(self, secret: str, lead: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        step = lead.get("step") or {}
        mine = [file for file in self._files(secret, variables) if file.target in step.get("targets", [])]
        if not mine:
            return {"changed": False, "skipped": True}
        key = record_key()
        labels = Sidecar(secret, key)

        def trip(files: list[_targets.File], user: str, look: bool) -> list[dict[str, Any]]:
            return self._trip(files, user, {} if look else lead["registry"], look, variables)

        outside = Account(secret, mine, lambda: str(lead["current"]), trip)
        rotation = Rotation(secret, Ledger(key), labels, outside, tuple(lead["wanted"]))
        taken = Step(step["name"], step["version"], tuple(file.target for file in mine))
        for file in mine:
            if taken.name == "plan":
                rotation.look(file.target, taken)
            elif taken.name == "retire":
                rotation.confirm(file.target)
            else:
                rotation.deliver(file.target, taken)
        now = rotation.situation()
        states = now.states(now.version if taken.name == "retire" else taken.version)
        return _lead.share_result(taken, mine, outside.outcomes, states)

    def _trip(
        self,
        files: list[_targets.File],
        user: str,
        registry: Mapping[str, Any],
        look: bool,
        variables: Mapping[str, Any],
    ) -> list[dict[str, Any]]:
        """One command over the connection for all files of the account."""
        password = self._key(user, variables)
        entries = [_targets.entry(file, password, registry) for file in files]
        plan = Plan.of(entries, lambda _name: password)
        wishes = {"work": "foresee" if look else "reconcile", "seconds": 60}
        conversation = Conversation(self, plan.entries, wishes, variables)
        try:
            return plan.merged(conversation.outcomes(0))
        except AnsibleConnectionFailure as error:
            raise (Unreachable if any(word in str(error) for word in NEVER_THERE) else Unanswered) from None
        except _answer.NoAnswer:
            raise Unanswered from None
