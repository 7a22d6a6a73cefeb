"""The settings of the collection's roles, from their argument specs, as schemas for the accounts file.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from .collection import ROLES_FOLDER
from .json_schema import Schema
from .yaml_loader import Loader

BOOLEAN = r"(?i)^(yes|no|on|off|true|false|y|n|t|f|1|0)$|\{\{"

# JSON Schema of the values that Ansible accepts for each type of an option, which include templates.
TYPES: dict[str, Schema] = {
    "str": {"type": ["string", "integer", "number", "boolean"]},
    "int": {
        "type": ["integer", "string"],
        "pattern": r"^\s*[-+]?[0-9]+\s*$|\{\{",
        "description": "a whole number",
    },
    "bool": {"type": ["boolean", "string"], "pattern": BOOLEAN, "description": "true or false"},
    "list": {"type": "array"},
    "dict": {"type": "object"},
}


def role_names() -> set[str]:
    """Return the names of all roles."""
    return {file.parts[-3] for file in ROLES_FOLDER.glob("*/meta/argument_specs.yml")}


def role_options(role: str) -> dict[str, Any]:
    """Return the argument spec of a role: each setting by its name."""
    specs = _load_yaml(ROLES_FOLDER / role / "meta" / "argument_specs.yml")["argument_specs"]
    options: dict[str, Any] = specs["main"]["options"]
    return options


def role_defaults(role: str) -> dict[str, Any]:
    """Return the default values of a role's settings."""
    return _load_yaml(ROLES_FOLDER / role / "defaults" / "main.yml")


def role_schema(role: str) -> Schema:
    """Return the schema of a role's settings, without the role's prefix in their names."""
    schema = options_schema(role_options(role), required=False)
    properties = {key.removeprefix(role + "_"): setting for key, setting in schema["properties"].items()}
    return {**schema, "properties": properties, "type": ["object", "null"]}  # null: a role's name without settings


def _load_yaml(file: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file of a role."""
    return yaml.load(file.read_text(encoding="utf-8"), Loader=Loader)  # type: ignore[no-any-return]  # YAML may be anything


def options_schema(options: dict[str, Any], required: bool = True) -> Schema:
    """Return the schema of a mapping with these options.

    required: False for the options of a role itself, which its defaults or vars may set.
    """
    properties = {name: option_schema(option) for name, option in options.items()}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = [name for name, option in options.items() if option.get("required")]
    return schema


def option_schema(option: dict[str, Any]) -> Schema:
    """Return the schema of one setting. option: its part of the argument spec."""
    option_type = option.get("type", "str")
    if option_type == "dict" and "options" in option:
        return options_schema(option["options"])
    schema = dict(TYPES[option_type])
    if "choices" in option:
        schema["enum"] = list(option["choices"])
    if option_type == "list" and "options" in option:  # a list of mappings
        schema["items"] = options_schema(option["options"])
    elif option_type == "list" and "elements" in option:
        schema["items"] = option_schema({"type": option["elements"]})
    return schema
