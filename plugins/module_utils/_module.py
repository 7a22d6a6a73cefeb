# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a kind of resource to an ordinary Ansible module: options, Resource, run()."""

import os
from typing import Any, Dict, Type

from ansible.module_utils.basic import AnsibleModule

from ._core.resource import FAILURES, Resource
from ._engine.engine import answer

FOLLOW_SECONDS = 60


def run(kind: Type[Resource]) -> None:
    """Take one resource through the engine that converge sends, and end the module."""
    spec: Dict[str, Any] = {"fingerprint_key": {"type": "str", "no_log": True}}
    spec.update({name: plain(option) for name, option in kind.OPTIONS.items()})
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    options = {name: module.params[name] for name in kind.OPTIONS}
    plan = {
        "resources": [{"kind": kind.KIND, "capability": "module", "options": options}],
        "work": "foresee" if module.check_mode else "reconcile",
        "fingerprint_key": module.params["fingerprint_key"] or os.urandom(32).hex(),
    }
    outcome = settled(module, plan, kind)
    if outcome["status"] in FAILURES:
        module.fail_json(msg="%s: %s" % (outcome["identity"], outcome["reason"]), outcome=outcome)
    result: Dict[str, Any] = {"changed": outcome["status"] != "in_place", "outcome": outcome}
    if result["changed"]:
        result["diff"] = {"before": lines(outcome["before"]), "after": lines(outcome["after"])}
    module.exit_json(**result)


def settled(module: AnsibleModule, plan: Dict[str, Any], kind: Type[Resource]) -> Dict[str, Any]:
    """The outcome when nothing is under way any more; work that takes minutes is waited for."""
    outcome = first = answered(module, plan, kind)
    while outcome["progress"] and "failed" not in outcome["progress"] and not module.check_mode:
        outcome = answered(module, dict(plan, work="follow", follow_seconds=FOLLOW_SECONDS), kind)
    if outcome["progress"]:
        return dict(first, status="failed", reason=outcome["progress"]["failed"])
    return dict(first, progress=None)


def answered(module: AnsibleModule, plan: Dict[str, Any], kind: Type[Resource]) -> Dict[str, Any]:
    """The one outcome of a plan; an error that stops it ends the module."""
    said = answer(plan, {kind.KIND: kind})
    if said["error"]:
        module.fail_json(msg=said["error"])
    outcome: Dict[str, Any] = said["outcomes"][0]
    return outcome


def plain(option: Dict[str, Any]) -> Dict[str, Any]:
    """The option as Ansible is told it: paths are text, for the engine itself resolves ~ and $SCRATCH."""
    return dict(option, type="str") if option["type"] == "path" else dict(option)


def lines(state: Dict[str, str]) -> str:
    """A state as a person reads it, one 'field: value' a line."""
    return "".join("%s: %s\n" % item for item in sorted(state.items()))
