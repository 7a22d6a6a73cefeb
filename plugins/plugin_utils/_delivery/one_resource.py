# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task that keeps one resource, by the module of its kind: its arguments, and the result that it documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._resources.kept_key import KeptKey
from .._roles.collect import refuse_keys
from .plan import KINDS, asked_of
from .result import CHANGES, FAILURES, diffs

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry
    from .._documents.outcome import Outcome
    from .._documents.result import OneResult

FINGERPRINT_KEY = "fingerprint_key"
REPLACE = "replace"
WAIT = 3600  # seconds for work of minutes, as converge waits unless it is told otherwise


def argument_spec(kind: str) -> dict[str, dict[str, Any]]:
    """What the module takes. Paths are text to Ansible, for the account itself resolves ~ and $SCRATCH."""
    options = asked_of(kind).OPTIONS
    spec = {name: {**one, "type": "str" if one["type"] == "path" else one["type"]} for name, one in options.items()}
    replaces = {REPLACE: {"type": "bool", "default": False}} if issubclass(KINDS[kind], KeptKey) else {}
    return {**spec, **replaces, FINGERPRINT_KEY: {"type": "str", "no_log": True}}


def entry(kind: str, arguments: Mapping[str, Any]) -> PlanEntry:
    """The one entry of the plan, checked by the kind itself. Raises AccountError."""
    options = {name: arguments.get(name) for name in asked_of(kind).OPTIONS}
    asked_of(kind)(options)
    refuse_keys(options)
    return {"kind": kind, "capability": "module", "options": options}


def plan_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the agreement to replace an unknown key, and the key of fingerprints, if given. Raises AccountError."""
    agreed = {"replace": True} if arguments.get(REPLACE) else {}
    key = arguments.get(FINGERPRINT_KEY)
    if not key:
        return agreed
    try:
        bytes.fromhex(key)
    except ValueError:
        raise AccountError(f"{FINGERPRINT_KEY} is not hexadecimal: write each byte as two of 0-9 and a-f") from None
    return {**agreed, FINGERPRINT_KEY: key}


def result(outcome: Outcome) -> OneResult:
    """The result of the task."""
    if outcome["status"] in FAILURES:
        return {"failed": True, "msg": f"{outcome['identity']}: {outcome['reason']}", "outcome": outcome}
    if outcome["status"] not in CHANGES:
        return {"changed": False, "outcome": outcome}
    return {"changed": True, "outcome": outcome, "diff": diffs([outcome])}
