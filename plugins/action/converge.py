# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring an account to its desired state in one SSH session: what its roles declare, or one resource of a module.

The documentation is in plugins/modules/converge.py. The engine is the program that hpc-onboard sends to an account, and
that compares and changes its resources. It gets a plan with an entry for each resource, and returns an outcome for
each entry. A session gives access to one account: its variables and its connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.delivery import deliver
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import options_class
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.result import CHANGES, FAILURES, render_diffs
from ansible_collections.hpc.onboard.plugins.plugin_utils._input import extra_vars
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.argument_spec import Spec, check_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import (
    RefusedValue,
    plain_values,
    refuse_keys,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import state_folder
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import ResourceOutcome
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import ModuleResult

ROLE_ARGUMENTS: Spec = {  # of a task converge, which delivers what roles declare
    "capabilities": {"type": "list", "elements": "str", "default": []},
    "resources": {"type": "list", "elements": "dict", "default": []},
    "seconds": {"type": "int", "default": 30},
    "wait": {"type": "int", "default": 3600},
}
FINGERPRINT_KEY = "fingerprint_key"  # argument: the secret key with which the account makes fingerprints of keys
REPLACE = "replace"  # argument: replace a key that the user stored on the account
WAIT = 3600  # seconds that a module waits for a job


class ActionModule(AccountAction):
    """hpc.onboard.converge, and the module of each resource type."""

    def read_arguments(self) -> Arguments:
        """Return the arguments as they are: Ansible's own check would resolve paths on this machine."""
        arguments: Arguments = plain_values(self._task.args)
        return arguments

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Run a module with one resource, or deliver what the roles declare.

        session: the task's account. arguments: of the task, not checked yet.
        """
        if self._resource_type in PLACES:
            checked = check_arguments(make_module_spec(self._resource_type), arguments)
            return deliver_one(self._resource_type, checked, session)
        checked = check_arguments(ROLE_ARGUMENTS, arguments)
        names = session.select(checked["capabilities"])  # the roles that --tags select
        # a role with a value that it refuses is skipped, and the other roles are delivered
        declared = session.collect(names, checked["resources"], tolerated=(RefusedValue,)).without_repeats()
        if (state_folder() / "secrets").is_dir() and not session.sandbox:  # a key was rotated on this machine
            from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import reminders

            # only the rotation itself writes the files whose keys are being replaced
            declared = reminders.skip_open_rotations(session.name, declared)
        # seconds: the time limit for one resource; wait: seconds to wait for jobs
        settings = {"seconds": checked["seconds"], **read_decisions(session)}
        return deliver(session, declared, wait=checked["wait"], settings=settings)

    @property
    def _resource_type(self) -> str:
        """Return the name of the task's module: the resource type of its single resource, or converge."""
        return str(self._task.action.rpartition(".")[2])


def check_arguments(spec: Spec, arguments: Arguments) -> dict[str, Any]:
    """Return the arguments of a task with their defaults. Raise AccountError with all violations of the spec."""
    checked = check_settings(spec, arguments)
    if checked.violations:
        from ansible_collections.hpc.onboard.plugins.plugin_utils._input.spec_sentences import describe_violation

        raise AccountError("\n".join(map(describe_violation, checked.violations)))
    return checked.values


def read_decisions(session: AccountSession) -> dict[str, bool | str]:
    """Return the user's decisions, as fields of the plan. Raise AccountError for an invalid setting.

    replace: True to replace keys that hpc-onboard does not know; not set, like False, unless the user has set an option
    of onboarding. engine: "keep" if the account keeps the engine for later runs, else "drop".
    """
    if not any(name.startswith("onboard_") for name in session.variables):  # the user has set no option of onboarding
        return {"engine": "keep"}
    readers = {"onboard_replace": extra_vars.read_bool, "onboard_keep_engine": extra_vars.read_bool}
    settings = extra_vars.read_settings("an onboarding", readers, session.variables, session.value)
    engine = "keep" if settings.get("onboard_keep_engine", True) else "drop"
    return {"replace": bool(settings.get("onboard_replace")), "engine": engine}


# -- one resource ----------------------------------------------------------------------------------


def make_module_spec(resource_type: str) -> Spec:
    """Return the argument spec of a resource type's module: the options of the type, and FINGERPRINT_KEY.

    The module of a file with a key has the argument REPLACE, too. Paths are text for Ansible, because the account
    resolves ~ and $SCRATCH.
    """
    options = options_class(resource_type).OPTIONS
    spec = {
        name: {**option, "type": "str" if option["type"] == "path" else option["type"]}
        for name, option in options.items()
    }
    if {"password", "state"} <= options.keys():  # a file that contains a key
        spec[REPLACE] = {"type": "bool", "default": False}
    return {**spec, FINGERPRINT_KEY: {"type": "str", "no_log": True}}


def deliver_one(resource_type: str, arguments: Arguments, session: AccountSession) -> ModuleResult:
    """Bring one resource to its desired state and return the result that its module documents. Raise AccountError.

    arguments: of the module's task, checked.
    """
    # work: change the account, or only preview the change; receipt: the account records what it creates
    settings = {"work": session.work, "receipt": True, **read_plan_settings(arguments)}
    entry = make_plan_entry(resource_type, arguments)
    (outcome,) = Conversation(session, [entry], settings).fetch_outcomes(wait=WAIT)
    return make_module_result({**outcome, "progress": None})  # modules do not document the field progress


def make_plan_entry(resource_type: str, arguments: Arguments) -> PlanEntry:
    """Return the plan's entry for a module's arguments, checked by the resource type itself. Raise AccountError."""
    options = {name: arguments.get(name) for name in options_class(resource_type).OPTIONS}
    options_class(resource_type)(options)  # raises AccountError for invalid options
    refuse_keys(options)  # raises AccountError if the option content is a text with a key
    return {"kind": resource_type, "capability": "module", "options": options}  # "module": in place of a role


def read_plan_settings(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments that are parts of the plan: replace, and the key for fingerprints. Raise AccountError."""
    settings: dict[str, Any] = {"replace": True} if arguments.get(REPLACE) else {}
    key = arguments.get(FINGERPRINT_KEY)
    if key:
        try:
            bytes.fromhex(key)
        except ValueError:
            raise AccountError(
                f"{FINGERPRINT_KEY} is not hexadecimal. Write each byte as two digits (0-9, a-f)"
            ) from None
        settings[FINGERPRINT_KEY] = key
    return settings


def make_module_result(outcome: ResourceOutcome) -> ModuleResult:
    """Return the result of a module's task: failed, unchanged, or changed with a diff. outcome: of its resource."""
    if outcome["status"] in FAILURES:
        return {"failed": True, "msg": f"{outcome['identity']}: {outcome['reason']}", "outcome": outcome}
    if outcome["status"] not in CHANGES:
        return {"changed": False, "outcome": outcome}
    return {"changed": True, "outcome": outcome, "diff": render_diffs([outcome])}
