# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of our documents say what the schemas say: the same members, as often there, of the same types."""

from __future__ import annotations

import json
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.module_utils._core import resource
from ansible_collections.hpc.onboard.plugins.modules import converge
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules import catalogue as rules
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer as read
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import result as results
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents import finding, outcome
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents import result as result_documents
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.answer import (
    AccountOwner,
    EngineAnswer,
    ReceiptNote,
    RotationMark,
)

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
SIMPLE = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
Shape = Any  # a type's name, a set of words, or what holds other shapes: a form in which types and schemas can be equal


def schema(name: str) -> dict[str, Any]:
    """A schema that we publish."""
    document: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return document


def shape_of_type(hint: Any) -> Shape:
    """What values of a type look like."""
    origin, parts = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        members = get_type_hints(hint, include_extras=True)
        return ("object", {name: (is_required(hint, name, one), shape_of_type(one)) for name, one in members.items()})
    if origin in (NotRequired, Required):
        return shape_of_type(parts[0])
    if origin is Literal:
        return frozenset(parts)
    if origin in (Union, UnionType):
        return either(shape_of_type(one) for one in parts)
    if origin is list:
        return ("list of", shape_of_type(parts[0]))
    if origin is dict:
        return ("mapping to", shape_of_type(parts[1]))
    return "anything" if hint is Any else SIMPLE[hint]


def is_required(document: Any, name: str, hint: Any) -> bool:
    """Whether a member is always there; where annotations are text, Python itself does not see NotRequired."""
    return name in document.__required_keys__ and get_origin(hint) is not NotRequired


def shape_of_schema(node: Any, whole: dict[str, Any]) -> Shape:
    """What documents of a schema look like."""
    if "$ref" in node:
        return shape_of_schema(whole["$defs"][node["$ref"].removeprefix("#/$defs/")], whole)
    if "const" in node or "enum" in node:
        return frozenset(node.get("enum", [node.get("const")]))
    for word in ("anyOf", "oneOf"):
        if word in node:
            return either(shape_of_schema(one, whole) for one in node[word])
    if isinstance(node["type"], list):
        return either(shape_of_schema({**node, "type": one}, whole) for one in node["type"])
    if node["type"] == "array":
        return ("list of", shape_of_schema(node["items"], whole))
    if node["type"] == "object" and "properties" in node:
        members = {name: shape_of_schema(one, whole) for name, one in node["properties"].items()}
        return ("object", {name: (name in node.get("required", ()), one) for name, one in members.items()})
    if node["type"] == "object":
        others = node.get("additionalProperties")
        return ("mapping to", shape_of_schema(others, whole) if isinstance(others, dict) else "anything")
    return node["type"]


def either(shapes: Any) -> Shape:
    """One of several shapes, in whatever order they are named."""
    return ("either", sorted(map(repr, shapes)))


def whole(shape: Shape, **more: Shape) -> Shape:
    """A shape whose every member is there: an answer is completed when it is read. more: members that it gets then."""
    kind, members = shape
    return (kind, {name: (True, one) for name, (_required, one) in {**members, **more}.items()})


def test_the_report_is_as_its_schema_says() -> None:
    audit = schema("audit")
    kind, members = shape_of_schema(audit, audit)
    text = {**members, "schema": (True, "string")}  # a type cannot say which version
    assert shape_of_type(finding.AuditReport) == (kind, text)


@pytest.mark.parametrize(("name", "kind"), [("note", ReceiptNote), ("mark", RotationMark)])
def test_a_receipt_is_as_its_schema_says(name: str, kind: Any) -> None:
    receipt = schema("receipt")
    assert shape_of_type(kind) == shape_of_schema(receipt["$defs"][name], receipt)


def test_an_outcome_is_as_its_schema_says_and_complete() -> None:
    answer = schema("answer")
    assert shape_of_type(outcome.Evidence) == shape_of_schema(answer["$defs"]["evidence"], answer)
    assert shape_of_type(outcome.JobProgress) == shape_of_schema(answer["$defs"]["under_way"], answer)
    assert shape_of_type(outcome.JobFailure) == whole(shape_of_schema(answer["$defs"]["ended"], answer))
    kind, members = shape_of_type(outcome.ResourceOutcome)
    assert members.pop("missing_secret") == (False, "string")  # which this machine adds
    assert members.pop("left") == (False, shape_of_type(outcome.JobProgress))  # this, too
    told = shape_of_schema(answer["$defs"]["outcome"], answer)
    told[1]["progress"] = (True, either(map(shape_of_type, (NoneType, outcome.JobProgress, outcome.JobFailure))))
    assert (kind, members) == whole(told)


def test_an_answer_is_as_its_schema_says_and_complete() -> None:
    answer = schema("answer")
    _kind, told = shape_of_schema(answer, answer)
    _kind, typed = shape_of_type(EngineAnswer)
    assert set(typed) == set(told) - {"schema"}
    for name in ("error", "python", "host", "seconds"):
        assert typed[name] == told[name]
    assert typed["account"] == (True, shape_of_type(AccountOwner)) == (True, told["account"][1])


def test_words_that_are_listed_are_those_of_the_types() -> None:
    assert set(resource.STATUSES) == set(results.WORDS) == set(get_args(outcome.Status))
    assert set(read.VERDICTS) == set(get_args(outcome.Verdict))
    assert read.SEVERITIES == rules.SEVERITIES == get_args(outcome.Severity)
    assert set(rules.CLASSES) == set(get_args(finding.Class))
    assert set(rules.CAUSES) == set(get_args(finding.Cause))


def test_a_result_is_as_its_module_documents_it() -> None:
    documented = yaml.safe_load(converge.RETURN)
    hints = get_type_hints(result_documents.AccountResult, include_extras=True)
    ansibles_own = {"changed", "failed", "msg", "diff"}
    said_by_others = {
        "found_keys",
        "human_steps",
        "introduction",
        "keyring",
        "keys",
        "sandbox",
    }  # for the console; no promise
    assert set(hints) - ansibles_own - said_by_others == set(documented)
    assert set(get_type_hints(outcome.ResourceOutcome)) == set(documented["outcomes"]["contains"])
