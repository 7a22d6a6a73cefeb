"""The settings of the collection's roles, from their argument specs, as schemas for the accounts file.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from typing import Any

from .json_schema import Schema

BOOLEAN = r"(?i)^(yes|no|on|off|true|false|y|n|t|f|1|0)$|\{\{"

# What Ansible takes for each type of an option; a template may stand for any of them.
TYPES: dict[str, Schema] = {
    "str": {"type": ["string", "integer", "number", "boolean"]},
    "path": {"type": "string"},
    "int": {
        "type": ["integer", "string"],
        "pattern": r"^\s*[-+]?[0-9]+\s*$|\{\{",
        "description": "It must be a whole number",
    },
    "float": {
        "type": ["number", "string"],
        "pattern": r"^\s*[-+]?[0-9.]+\s*$|\{\{",
        "description": "It must be a number",
    },
    "bool": {"type": ["boolean", "string"], "pattern": BOOLEAN, "description": "It must be true or false"},
    "list": {"type": "array"},
    "dict": {"type": "object"},
}


def settings_schema(role: str, options: dict[str, Any]) -> Schema:
    """Schema of a role's settings, from its argument spec, without the role's prefix in their names."""
    schema = options_schema(options, required=False)
    properties = {key.removeprefix(role + "_"): each for key, each in schema["properties"].items()}
    return {**schema, "properties": properties, "type": ["object", "null"]}


def options_schema(options: dict[str, Any], required: bool = True) -> Schema:
    """Schema of a mapping with these options. A role's own may be absent: its defaults or vars set them."""
    properties: Schema = {}
    for name, option in options.items():
        for key in (name, *option.get("aliases", ())):
            properties[key] = option_schema(option)
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = [
            name for name, option in options.items() if option.get("required") and not option.get("aliases")
        ]
    return schema


def option_schema(option: dict[str, Any]) -> Schema:
    """Schema of one option."""
    schema = dict(TYPES.get(option.get("type", "str"), {}))
    if "choices" in option:
        schema["enum"] = list(option["choices"])
    if option.get("type") == "dict" and "options" in option:
        return options_schema(option["options"])
    if option.get("type") == "list" and "options" in option:
        schema["items"] = options_schema(option["options"])
    elif option.get("type") == "list" and "elements" in option:
        schema["items"] = option_schema({"type": option["elements"]})
    return schema
