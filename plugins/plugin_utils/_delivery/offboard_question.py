# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether anybody need be asked before things are taken out of accounts, and what they say."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from .._input import agreement, command_line, extra_vars
from .._input.extra_vars import Value
from .result import CHANGES

if TYPE_CHECKING:
    from .._documents.result import OffboardPart, Refusal

Variables = Mapping[str, Any]  # Ansible's, of the host that a part is run for
Options = Mapping[str, Any]  # of Ansible's command line

SETTINGS = {
    "offboard_only": extra_vars.one_of("everything", "undeclared"),
    "offboard_capabilities": extra_vars.whole,
    "offboard_sure": extra_vars.truth,
}
SHOWN = "foreseen"
"""The variable in which playbooks/offboard.yml registers what an account was shown to lose."""
NAMES = "foreseen_names"
"""The variable in which it registers which names for ssh would go with the accounts."""
QUESTION = "Take this out? [y/N] "
NOTHING = "nothing was taken out"
DONE: OffboardPart = {"kind": "offboard_part", "changed": False}


def check_names(variables: Variables) -> None:
    """Refuse a setting that is not known: a misspelt offboard_only would take out everything. Raises AccountError."""
    extra_vars.read("an offboarding", SETTINGS, variables, lambda _name: None)


def asks(variables: Variables, value: Value) -> bool:
    """Whether a person must agree. Raises AccountError for a setting that is misspelt."""
    sure = _settings(variables, value).get("offboard_sure", False)
    return not (variables.get("ansible_check_mode") or sure)


def begun(variables: Variables, value: Value, options: Options, is_at_terminal: bool) -> OffboardPart | Refusal:
    """Whether the accounts may be looked at: not where a person must agree and nobody is there to be asked."""
    try:
        if asks(variables, value) and not is_at_terminal:
            agreement.check("", NOTHING, _again(variables, value, options))
    except AccountError as error:
        return _refused(error)
    return DONE


def asked(variables: Variables, value: Value, options: Options, ask: Callable[[str], str]) -> OffboardPart | Refusal:
    """Whether the person agrees to what was shown; where nothing was, they are not asked. ask: gives their answer."""
    try:
        if asks(variables, value) and _is_any_shown(variables):
            agreement.check(ask(QUESTION), NOTHING, _again(variables, value, options))
    except AccountError as error:
        return _refused(error)
    return DONE


def _settings(variables: Variables, value: Value) -> dict[str, Any]:
    return extra_vars.read("an offboarding", SETTINGS, variables, value)


def _is_any_shown(variables: Variables) -> bool:
    """Whether there is anything to take out on any account that is still in the play."""
    shown = (variables["hostvars"][host].get(SHOWN) or {} for host in variables["ansible_play_hosts"])
    names = (variables.get(NAMES) or {}).get("changed", False)
    return names or any(one["status"] in CHANGES for each in shown for one in each.get("outcomes", ()))


def _again(variables: Variables, value: Value, options: Options) -> str:
    """The command that takes out the same and asks nobody."""
    given = {name: one for name, one in _settings(variables, value).items() if name != "offboard_sure"}
    words = [word for name, one in given.items() for word in ("-e", _assigned(name, one))]
    words += command_line.unasked("offboard")
    limit = ["-l", str(options["subset"])] if options.get("subset") else []
    typed = command_line.again(options, sys.argv[1:], options.get("args") or ())
    return f"{typed} {shlex.join([*limit, *words])}"


def _assigned(name: str, value: Any) -> str:
    return f"{name}={value}" if isinstance(value, str) else json.dumps({name: value})


def _refused(error: AccountError) -> Refusal:
    return {"kind": DONE["kind"], "failed": True, "msg": str(error)}
