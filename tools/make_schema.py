"""The schemas of a profile, from the table of facts (plugins/plugin_utils/_accounts/fields.py).

cluster.schema.json describes the values. profile.schema.json describes a profile as users write it: each fact is a
value, or a mapping {value, source, date}.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.cluster_schema import ADDRESS, build_cluster_schema
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.field_types import Form
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.fields import ABOUT_PROFILE

SAID: Form = {  # what may be given in addition to a value
    "source": {"description": "The id of one of the sources.", "$ref": "#/$defs/text"},
    "date": {
        "description": "Day of the text that says so, where it is not that of the source.",
        "type": "string",
        "pattern": "^20[0-9]{2}(-[01][0-9](-[0-3][0-9])?)?$",
    },
}


def written(schema: Form) -> Form:
    """Return the schema of a profile with sources. schema: of the values."""
    values: Form = {}  # place of a value -> its schema, which is used twice: for the value alone, and with its source
    properties = {
        name: each if name in ABOUT_PROFILE else _with_source(each, name, values)
        for name, each in schema["properties"].items()
    }
    title = {
        "$id": f"{ADDRESS}/profile.schema.json",
        "title": "Profile of one cluster, as users write it",
        "description": "What cluster.schema.json says; every fact may have its source.",
    }
    # A profile need not repeat the facts of its family. Required facts are checked after both are merged.
    needed = {"if": {"required": ["extends"]}, "else": {"required": schema["required"]}}
    rest = {key: each for key, each in schema.items() if key != "required"}
    return {**rest, **title, **needed, "properties": properties, "$defs": {**schema["$defs"], **SAID, **values}}


def _with_source(schema: Form, place: str, values: Form) -> Form:
    """Return the schema of a value, or of a mapping with the value and its source. Parts of the value may have both."""
    inner = {key: each for key, each in schema.items() if key != "description"}
    if "." not in place:
        inner.pop("required", None)
    if "properties" in inner:
        inner["properties"] = {
            key: each if key == "source" else _with_source(each, f"{place}.{key}", values)
            for key, each in inner["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(inner.get(key), dict):
            inner[key] = _with_source(inner[key], f"{place}.{key}", values)
    values[place] = inner
    value = {"$ref": f"#/$defs/{place}"}
    about = {"value": value, "source": {"$ref": "#/$defs/source"}, "date": {"$ref": "#/$defs/date"}}
    return {
        **({"description": schema["description"]} if "description" in schema else {}),
        "if": {"type": "object", "required": ["value"]},  # anyOf would cause messages about both forms
        "then": {"properties": about, "additionalProperties": False},
        "else": value,
    }


def cluster_page() -> str:
    """Return the text of cluster.schema.json."""
    return _text(build_cluster_schema())


def profile_page() -> str:
    """Return the text of profile.schema.json."""
    return _text(written(build_cluster_schema()))


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=1) + "\n"
