# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a document against the part of JSON Schema that the schemas of this collection use.

The jsonschema library would add a tenth of a second to every start of Ansible; the tests use it to show
that both agree. A message quotes a value only if the schema lists the allowed values. A place is the path of a value
in the document, a tuple of keys and indexes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._text.sanitise import visible
from .diagnostics import Place, nearest

Schema = dict[str, Any]

TYPE_NAMES = {
    "object": "a mapping (key: value)",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}

QUOTES, BRACKETS = " Write the value in quotes.", " Write the value in square brackets: [VALUE]."
CONVERSIONS = {  # (type of the value, expected types in words) -> how to write the value
    **dict.fromkeys([(kind, TYPE_NAMES["string"]) for kind in ("integer", "number", "boolean")], QUOTES),
    **dict.fromkeys([(kind, TYPE_NAMES["array"]) for kind in ("string", "integer", "number")], BRACKETS),
}


@dataclass(frozen=True)
class SchemaViolation:
    """One violation of the schema. at_key: True if the key is wrong, not its value."""

    place: Place
    text: str
    at_key: bool = False


@dataclass(frozen=True)
class Checker:
    """A schema with its definitions.

    may_be_template: True for a place where text with {{ is accepted for any value without a pattern.

    The methods get a value of the document, the part of the schema for this value, and the place of the value.
    """

    schema: Schema
    may_be_template: Callable[[Place], bool] = lambda _place: False

    def violations(self, document: Any) -> Iterator[SchemaViolation]:
        """Yield all violations in the document."""
        return self._check(document, self.schema, place=())

    def _check(self, value: Any, schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        """Yield the violations of a value and of all values in it. place: of the value in the document."""
        schema = self._resolve(schema)
        json_kind = json_type(value)
        if json_kind is None or ("pattern" not in schema and is_template(value) and self.may_be_template(place)):
            return  # an encrypted value or a template: its content is not known yet
        if not is_of_type(json_kind, schema.get("type")):
            types = describe_types(schema["type"])
            hint = name_example(place, schema) or CONVERSIONS.get((json_kind, types), "")
            yield SchemaViolation(place, f"{name_subject(place)} must be {types}, not {TYPE_NAMES[json_kind]}.{hint}")
            return
        if "enum" in schema and not any(is_same(value, choice) for choice in schema["enum"]):
            yield SchemaViolation(place, describe_enum(place, value, schema["enum"]))
        if check := CHECKS.get(json_kind):
            yield from check(self, value, schema, place)

    def _resolve(self, schema: Schema) -> Schema:
        """Return the schema that $ref points to, updated with the keywords next to the $ref."""
        reference = schema.get("$ref")
        if reference is None:
            return schema
        target = self.schema
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
        return {**self._resolve(target), **{key: value for key, value in schema.items() if key != "$ref"}}

    def check_object(self, value: dict[str, Any], schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        """Yield a violation for each missing, unknown or invalid key, and those of the values."""
        properties = schema.get("properties", {})
        other_values = schema.get("additionalProperties", True)  # a schema, or False if other keys are not allowed
        for key in schema.get("required", ()):
            if key not in value:
                text = f'{name_subject(place)} has no "{key}"; add {describe_addition(key, properties.get(key, {}))}.'
                yield SchemaViolation(place, text, at_key=True)
        if len(value) < schema.get("minProperties", 0):
            yield SchemaViolation(place, f"{name_subject(place)} is empty; add an entry.", at_key=True)
        key_form = schema.get("propertyNames", {})
        for key, item in value.items():
            item_place = (*place, key)
            if not matches(key_form.get("pattern", ""), str(key)):
                hint = key_form.get("description", f"The name must match {key_form.get('pattern')}").rstrip(".")
                yield SchemaViolation(item_place, f'"{key}" is not a valid name here. {hint}.', at_key=True)
            if key in properties:
                yield from self._check(item, properties[key], item_place)
            elif other_values is False:
                yield SchemaViolation(item_place, f'unknown key "{key}"; {nearest(str(key), properties)}', at_key=True)
            elif isinstance(other_values, dict):
                yield from self._check(item, other_values, item_place)

    def check_array(self, value: list[Any], schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        """Yield a violation for a list that is too short, and those of the items."""
        if len(value) < schema.get("minItems", 0):
            yield SchemaViolation(place, f"{name_subject(place)} is empty; set a value or remove it.", at_key=True)
        if "items" in schema:
            for index, item in enumerate(value):
                yield from self._check(item, schema["items"], (*place, index))

    def check_string(self, value: str, schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        """Yield a violation for text that is too short or does not match the pattern."""
        invisible = next((character for character in value if visible(character) != character), None)
        if len(value) < schema.get("minLength", 0):
            yield SchemaViolation(
                place, f"{name_subject(place)} is empty; set a value or remove it.{name_example(place, schema)}"
            )
        elif matches(schema.get("pattern", ""), value):
            return  # the text is valid
        elif invisible:  # the pattern alone would not explain what is wrong
            text = (
                f"{name_subject(place)} contains the character {visible(invisible)}, which is not supported here. "
                "Write the text on one line; begin a long text with >-."
            )
            yield SchemaViolation(place, text)
        else:
            hint = schema.get("description", f"text that matches {schema['pattern']}")
            text = f"{name_subject(place)} is invalid. Expected: {hint.rstrip('.')}."
            yield SchemaViolation(place, text + name_example(place, schema))

    def check_number(self, value: float, schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        """Yield a violation for a number that is too small or too large."""
        if value < schema.get("minimum", value):
            yield SchemaViolation(place, f"{name_subject(place)} must be at least {schema['minimum']}.")
        if value > schema.get("maximum", value):
            yield SchemaViolation(place, f"{name_subject(place)} must be at most {schema['maximum']}.")


CHECKS: dict[str, Callable[[Checker, Any, Schema, Place], Iterator[SchemaViolation]]] = {
    "object": Checker.check_object,
    "array": Checker.check_array,
    "string": Checker.check_string,
    "integer": Checker.check_number,
    "number": Checker.check_number,
}


def matches(pattern: str, text: str) -> bool:
    """Return True if the pattern occurs in the text."""
    # a final $ becomes \Z: in JSON Schema, it does not match before a trailing newline
    return bool(re.search(re.sub(r"(?<!\\)\$\Z", r"\\Z", pattern), text))


def as_mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is a mapping, else {}: the schema reports a value of a wrong type."""
    return value if isinstance(value, dict) else {}


def remove_places(node: Any, places: Sequence[Place]) -> Any:
    """Return node, a document or a part of one, without the values at these places; in a list, None replaces an item.

    places: relative to the node.
    """
    if not places:
        return node  # no value below the node is invalid
    removed = {place[0] for place in places if len(place) == 1}
    if isinstance(node, list):
        return [
            None if index in removed else remove_places(item, _below(places, index)) for index, item in enumerate(node)
        ]
    items = as_mapping(node).items()
    return {key: remove_places(item, _below(places, key)) for key, item in items if key not in removed}


def _below(places: Sequence[Place], step: str | int) -> list[Place]:
    """Return the places below one key or index, relative to it."""
    return [place[1:] for place in places if place[0] == step and len(place) > 1]


def json_type(value: Any) -> str | None:
    """Return JSON's name for the type of a value; None for a type that JSON lacks (an encrypted value, a date).

    A whole number is an "integer" even if it is a float, as in JSON Schema.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    names = {int: "integer", str: "string", dict: "object", list: "array"}
    return next((name for python_type, name in names.items() if isinstance(value, python_type)), None)


def is_of_type(json_kind: str, allowed: str | list[str] | None) -> bool:
    """Return True if the JSON type `json_kind` is among the allowed types. allowed: None if all types are."""
    types = [allowed] if isinstance(allowed, str) else allowed
    return types is None or json_kind in types or (json_kind == "integer" and "number" in types)


def is_same(value: Any, allowed: Any) -> bool:
    """Return True if JSON treats the values as equal: true is not 1."""
    return isinstance(value, bool) == isinstance(allowed, bool) and bool(value == allowed)


def is_template(value: Any) -> bool:
    """Return True if the value is a template, which Ansible evaluates later."""
    return isinstance(value, str) and "{{" in value


def name_subject(place: Place) -> str:
    """Return the name of a place for a message: its key, 'item 2 of "key"', or "the file"."""
    names = [str(step) for step in place if isinstance(step, str)]
    if not names:
        return "the file"
    if isinstance(place[-1], int):
        return f'item {place[-1] + 1} of "{names[-1]}"'
    return f'"{names[-1]}"'


def describe_addition(key: str, schema: Schema) -> str:
    """Return what to add for a missing key: the whole line if only one value is possible, else "it"."""
    values = schema.get("examples") or schema.get("enum", ())
    return f'"{write_yaml(key, values[0])}"' if len(values) == 1 else "it"


def name_example(place: Place, schema: Schema) -> str:
    """Return the schema's example of a value as a sentence; empty if it has no example."""
    names = [str(step) for step in place if isinstance(step, str)]
    if not names or not schema.get("examples"):
        return ""
    return f" Example:  {write_yaml(names[-1], schema['examples'][0])}"


def write_yaml(key: str, value: Any) -> str:
    """Return a key and its value as one line of YAML."""
    import yaml  # imported late: most runs find no mistake

    text = yaml.safe_dump({key: value}, default_flow_style=True, allow_unicode=True, width=10_000, sort_keys=False)
    return str(text).strip()[1:-1]  # without the braces


def describe_types(allowed: str | list[str]) -> str:
    """Return the allowed types in words, such as "text or a list"; an empty value (null) is not mentioned."""
    types = [allowed] if isinstance(allowed, str) else [name for name in allowed if name != "null"]
    return " or ".join(TYPE_NAMES[name] for name in types)


def describe_enum(place: Place, value: Any, allowed: list[Any]) -> str:
    """Return the message about a value that is not allowed."""
    shortened = str(value)[:40]  # keeps the message on one line
    return f'{name_subject(place)} cannot be "{shortened}"; {nearest(str(value), map(str, allowed))}'
