"""Write docs/schemas/profile.schema.json, how a profile is written, from cluster.schema.json. With --print, show it.

Every fact may stand plainly or as {value, source, date}; written out by hand, each would have to be said twice.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import ABOUT  # noqa: E402  # the path comes first

SCHEMAS = ROOT / "docs" / "schemas"
Schema = dict[str, Any]

SAID: Schema = {  # what may stand beside a value
    "source": {"description": "The id of one of the sources.", "$ref": "#/$defs/text"},
    "date": {
        "description": "Day of the text that says so, where it is not that of the source.",
        "type": "string",
        "pattern": "^20[0-9]{2}(-[01][0-9](-[0-3][0-9])?)?$",
    },
}


def written(schema: Schema) -> Schema:
    """The schema of what is written, from that of the plain values."""
    values: Schema = {}  # by their place; each is used twice, alone and with its source
    properties = {
        name: each if name in ABOUT else wrapped(each, name, values) for name, each in schema["properties"].items()
    }
    title = {
        "$id": schema["$id"].replace("cluster", "profile"),
        "title": "Profile of one cluster, as it is written",
        "description": "Made by tools/make_schema.py from cluster.schema.json: every fact may have its source.",
    }
    # What a family gives need not be said again: whether all is there is seen when both are put together.
    needed = {"if": {"required": ["extends"]}, "else": {"required": schema["required"]}}
    rest = {key: each for key, each in schema.items() if key != "required"}
    return {**rest, **title, **needed, "properties": properties, "$defs": {**schema["$defs"], **SAID, **values}}


def wrapped(schema: Schema, place: str, values: Schema) -> Schema:
    """Either the value, or a mapping of it and its source; so for everything inside of it."""
    inner = {key: each for key, each in schema.items() if key != "description"}
    if "." not in place:
        inner.pop("required", None)
    if "properties" in inner:
        inner["properties"] = {
            key: each if key == "source" else wrapped(each, f"{place}.{key}", values)
            for key, each in inner["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(inner.get(key), dict):
            inner[key] = wrapped(inner[key], f"{place}.{key}", values)
    values[place] = inner
    value = {"$ref": f"#/$defs/{place}"}
    about = {"value": value, "source": {"$ref": "#/$defs/source"}, "date": {"$ref": "#/$defs/date"}}
    return {
        **({"description": schema["description"]} if "description" in schema else {}),
        "if": {"type": "object", "required": ["value"]},  # rather than anyOf, whose messages would speak of both
        "then": {"properties": about, "additionalProperties": False},
        "else": value,
    }


def page() -> str:
    """The whole file."""
    schema = json.loads((SCHEMAS / "cluster.schema.json").read_text(encoding="utf-8"))
    return json.dumps(written(schema), indent=1) + "\n"


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        sys.stdout.write(page())
    else:
        (SCHEMAS / "profile.schema.json").write_text(page(), encoding="utf-8")
