# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the capabilities declare for one account: their resources, and why they declare none.

A role checks its own settings by argument specs when it runs alone. In the shared trip nobody runs
its task, so the same specs are checked here, all roles at once, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities import CAPABILITIES, Declaration

ROLES = Path(__file__).parent.parent.parent / "roles"
Value = Callable[[str], Any]


class Declared(NamedTuple):
    """Entries {kind, capability, options}, and notes {capability, text} in words for people."""

    resources: list[dict[str, Any]]
    notes: list[dict[str, str]]


def selected(names: Iterable[str], run: Iterable[str], skip: Iterable[str]) -> list[str]:
    """The capabilities that --tags and --skip-tags leave; each one's tag is its name."""
    wanted, unwanted = set(run), set(skip)
    every = wanted & {"all", "tagged"}
    return [name for name in names if (every or name in wanted) and name not in unwanted]


def collect(names: Iterable[str], without: Iterable[str], resources: list[dict[str, Any]], value: Value) -> Declared:
    """All that the named capabilities declare, and the resources given directly. Raises AccountError."""
    declared = Declared([], [])
    refused = set(without)
    for name in names:
        if name in refused:
            declared.notes.append({"capability": name, "text": "left out: the accounts file says so (without)"})
            continue
        _add(declared, name, _declaration(name, value))
    for entry in plain(resources):
        if "password" in entry:
            raise AccountError("resources: a password does not belong here; name the key in its place: secret: NAME")
        options = {key: item for key, item in entry.items() if key != "kind"}
        declared.resources.append({"kind": entry.get("kind"), "capability": "resources", "options": options})
    return declared


def plain(value: Any) -> Any:
    """The value in plain Python types: Ansible's own are lazy, and not every library sees what they hold."""
    if isinstance(value, dict):
        return {str(key): plain(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _declaration(name: str, value: Value) -> Declaration:
    """What a capability declares from its role's settings, each of them looked up once and checked."""
    if name not in CAPABILITIES:
        raise AccountError(f"{name} is no capability; there are: {', '.join(sorted(CAPABILITIES))}")
    options = settings_spec(name)
    given = {option: plain(value(option)) for option in options}
    if all(setting is None for setting in given.values()):
        raise AccountError(f"the settings of {name} are not here: import its role first, with tasks_from: declare")
    checked = ArgumentSpecValidator(options).validate({k: v for k, v in given.items() if v is not None})
    if checked.error_messages:
        raise AccountError(f"{name}: " + "; ".join(checked.error_messages))
    settings = {key.removeprefix(name + "_"): setting for key, setting in checked.validated_parameters.items()}
    return CAPABILITIES[name](settings)


def _add(declared: Declared, name: str, declaration: Declaration) -> None:
    for entry in declaration["resources"]:
        declared.resources.append({**entry, "capability": name})
    for text in declaration["notes"]:
        declared.notes.append({"capability": name, "text": text})


@lru_cache
def settings_spec(name: str) -> dict[str, Any]:
    """The argument spec of a role's settings."""
    file = ROLES / name / "meta" / "argument_specs.yml"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
    return document["argument_specs"]["main"].get("options", {})  # type: ignore[no-any-return]


def prepare_settings() -> None:
    """Read the specs of all roles of this collection, for the processes that are forked from this one."""
    for file in ROLES.glob("*/meta/argument_specs.yml"):
        settings_spec(file.parts[-3])
