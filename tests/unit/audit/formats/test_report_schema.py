# SPDX-License-Identifier: GPL-3.0-or-later
"""The schema of the report: closed, and of one mind with the rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import (
    CAUSES,
    CLASSES,
    RULES,
    SEVERITIES,
)
from jsonschema import Draft202012Validator
from report_example import REPORTS, copy, example

SCHEMA = json.loads((Path(__file__).parents[4] / "docs/schemas/audit.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
NAMES = SCHEMA["$defs"]


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema of an object."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_object_is_closed_and_asks_for_all_of_its_members() -> None:
    found = list(objects(SCHEMA))
    assert len(found) > 10
    for schema in found:
        assert "additionalProperties" in schema
        assert set(schema.get("required", [])) == set(schema.get("properties", {}))


def test_its_words_are_those_of_the_rules() -> None:
    assert tuple(NAMES["severity"]["enum"]) == SEVERITIES == tuple(NAMES["by_severity"]["properties"])
    assert tuple(NAMES["class"]["enum"]) == CLASSES
    assert tuple(NAMES["cause"]["enum"]) == CAUSES
    assert tuple(NAMES["run"]["properties"]["fail_on"]["enum"]) == (*SEVERITIES, "never")
    cells = NAMES["account"]["properties"]["capabilities"]["additionalProperties"]["enum"]
    assert set(cells) == {"ok", *SEVERITIES, "not_applicable", "unknown"}
    assert all(re.fullmatch(NAMES["rule"]["pattern"], rule) for rule in RULES)


@pytest.mark.parametrize("name", REPORTS)
def test_every_example_is_valid(name: str) -> None:
    VALIDATOR.validate(REPORTS[name])


@pytest.mark.parametrize("path", ["run", "summary", "accounts", "findings", "resolved", "waivers", "history"])
def test_what_is_missing_or_not_known_is_refused(path: str) -> None:
    document = copy(example())
    part = document[path][0] if isinstance(document[path], list) else document[path]
    for name in list(part):
        value = part.pop(name)
        assert not VALIDATOR.is_valid(document), name
        part[name] = value
    part["further"] = 1
    assert not VALIDATOR.is_valid(document)
