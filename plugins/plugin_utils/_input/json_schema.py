"""Check a document against the part of JSON Schema that the schemas of this collection use.

The jsonschema library would cost every start of Ansible a tenth of a second; the tests use it to show
that both agree. Values are never quoted in a message unless the schema lists the words that may stand there.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._text.sanitise import visible
from .diagnostics import Place, nearest

Schema = dict[str, Any]

WORDS = {
    "object": "a mapping (key: value)",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}


@dataclass(frozen=True)
class SchemaViolation:
    """One thing that the schema does not allow, where it stands, and whether the key is to blame; what is missing."""

    place: Place
    text: str
    at_key: bool = False
    lacks: str = ""


@dataclass(frozen=True)
class Checker:
    """A schema, with its definitions. With templates, text that holds {{ passes where no pattern is set."""

    schema: Schema
    templates: bool = False

    def violations(self, document: Any) -> Iterator[SchemaViolation]:
        """Everything in the document that the schema does not allow."""
        return self._check(document, self.schema, ())

    def _check(self, value: Any, schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        schema = self._resolved(schema)
        kind = json_type(value)
        if kind is None or (self.templates and "pattern" not in schema and is_template(value)):
            return
        if not is_of_type(value, kind, schema.get("type")):
            types = describe_types(schema["type"])
            text = f"{name_subject(place)} must be {types}, not {WORDS[kind]}.{name_example(place, schema)}"
            yield SchemaViolation(place, text)
            return
        if "enum" in schema and not any(is_same(value, allowed) for allowed in schema["enum"]):
            yield SchemaViolation(place, describe_enum(place, value, schema["enum"], schema.get("x-unsupported", [])))
        yield from CHECKS.get(kind, check_nothing)(self, value, schema, place)

    def _resolved(self, schema: Schema) -> Schema:
        """The schema that $ref points to, with what stands beside the $ref."""
        reference = schema.get("$ref")
        if reference is None:
            return schema
        target = self.schema
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
        return {**self._resolved(target), **{key: value for key, value in schema.items() if key != "$ref"}}

    def object(self, value: dict[str, Any], schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        """Keys that are missing, unknown or ill-formed, then every value."""
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for key in schema.get("required", ()):
            if key not in value:
                text = f'{name_subject(place)} has no "{key}"; add {example(key, properties.get(key, {}))}.'
                yield SchemaViolation(place, text, at_key=True, lacks=key)
        if len(value) < schema.get("minProperties", 0):
            yield SchemaViolation(place, f"{name_subject(place)} is empty; add an entry.", at_key=True)
        names = schema.get("propertyNames", {})
        for key, item in value.items():
            below = (*place, key)
            if not matches(names.get("pattern", ""), str(key)):
                hint = names.get("description", f"It must match {names.get('pattern')}").rstrip(".")
                yield SchemaViolation(below, f'"{key}" is not a valid name here. {hint}.', at_key=True)
            if key in properties:
                yield from self._check(item, properties[key], below)
            elif others is False:
                yield SchemaViolation(below, f'unknown key "{key}"; {nearest(str(key), properties)}', at_key=True)
            elif isinstance(others, dict):
                yield from self._check(item, others, below)

    def array(self, value: list[Any], schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        """A list that is too short, then every item."""
        if len(value) < schema.get("minItems", 0):
            yield SchemaViolation(place, f"{name_subject(place)} is empty; set a value or remove it.", at_key=True)
        if "items" in schema:
            for index, item in enumerate(value):
                yield from self._check(item, schema["items"], (*place, index))

    def string(self, value: str, schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        """Text that is too short or of another form."""
        unseen = next((each for each in value if visible(each) != each), None)
        if len(value) < schema.get("minLength", 0):
            yield SchemaViolation(
                place, f"{name_subject(place)} is empty; set a value or remove it.{name_example(place, schema)}"
            )
        elif matches(schema.get("pattern", ""), value):
            return
        elif unseen:
            where = f"{name_subject(place)} contains the character {visible(unseen)}, which is not supported here."
            yield SchemaViolation(place, f"{where} Write the text in one line; begin a long text with >-.")
        else:
            hint = schema.get("description", f"text that matches {schema['pattern']}")
            text = f"{name_subject(place)} is invalid. Expected: {hint.rstrip('.')}."
            yield SchemaViolation(place, text + name_example(place, schema))

    def number(self, value: float, schema: Schema, place: Place) -> Iterator[SchemaViolation]:
        """A number that is too small or too large."""
        if value < schema.get("minimum", value):
            yield SchemaViolation(place, f"{name_subject(place)} must be at least {schema['minimum']}.")
        if value > schema.get("maximum", value):
            yield SchemaViolation(place, f"{name_subject(place)} must be at most {schema['maximum']}.")


CHECKS: dict[str, Callable[[Checker, Any, Schema, Place], Iterator[SchemaViolation]]] = {
    "object": Checker.object,
    "array": Checker.array,
    "string": Checker.string,
    "integer": Checker.number,
    "number": Checker.number,
}


def matches(pattern: str, text: str) -> bool:
    """Whether the text has a part of that form; $ is its very end, as in JSON Schema, and not before a newline."""
    return bool(re.search(re.sub(r"(?<!\\)\$\Z", r"\\Z", pattern), text))


def check_nothing(checker: Checker, value: Any, schema: Schema, place: Place) -> Iterator[SchemaViolation]:
    """The check of a kind that has none."""
    return iter(())


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else nothing: what should be one and is none is told by the schema."""
    return value if isinstance(value, dict) else {}


def json_type(value: Any) -> str | None:
    """JSON's name for the type of a value; None for what JSON has not (an encrypted value, a date)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    kinds = {int: "integer", str: "string", dict: "object", list: "array"}
    return next((kind for python, kind in kinds.items() if isinstance(value, python)), None)


def is_of_type(value: Any, kind: str, wanted: str | list[str] | None) -> bool:
    """Return True if a value of this kind is of the wanted type, or of one of them."""
    types = [wanted] if isinstance(wanted, str) else wanted
    return types is None or kind in types or (kind == "integer" and "number" in types)


def is_same(value: Any, allowed: Any) -> bool:
    """Equality as JSON sees it: true is not 1."""
    return isinstance(value, bool) == isinstance(allowed, bool) and bool(value == allowed)


def is_template(value: Any) -> bool:
    """Return True if Ansible will make the value out of a template."""
    return isinstance(value, str) and "{{" in value


def name_subject(place: Place) -> str:
    """Return how a message names the thing at a place."""
    names = [str(step) for step in place if isinstance(step, str)]
    if not names:
        return "the file"
    if isinstance(place[-1], int):
        return f'item {place[-1] + 1} of "{names[-1]}"'
    return f'"{names[-1]}"'


def example(key: str, schema: Schema) -> str:
    """Return what to add when a key is missing: the whole line where only one value may stand there."""
    words = schema.get("examples") or schema.get("enum", ())
    return f'"{write_yaml(key, words[0])}"' if len(words) == 1 else "it"


def name_example(place: Place, schema: Schema) -> str:
    """The example that a schema has of a value, as a sentence; nothing where it has none."""
    names = [str(step) for step in place if isinstance(step, str)]
    if not names or not schema.get("examples"):
        return ""
    return f" Such as:  {write_yaml(names[-1], schema['examples'][0])}"


def write_yaml(key: str, value: Any) -> str:
    """A key with its value as YAML has them in one line."""
    import yaml  # here, since a run without mistakes need not wait for it

    text = yaml.safe_dump({key: value}, default_flow_style=True, allow_unicode=True, width=10_000, sort_keys=False)
    return str(text).strip()[1:-1]


def describe_types(wanted: str | list[str]) -> str:
    """The wanted types in words."""
    types = [wanted] if isinstance(wanted, str) else [each for each in wanted if each != "null"]
    return " or ".join(WORDS[each] for each in types)


def describe_enum(place: Place, value: Any, allowed: list[Any], unsupported: Sequence[str] = ()) -> str:
    """What to say about a word that is not among those allowed. unsupported: known words that nothing does yet."""
    if value in unsupported:
        words = ", ".join(map(str, allowed))
        return f"{name_subject(place)}: {value} is not supported yet; use one of {words}, or remove this line"
    return f'{name_subject(place)} cannot be "{str(value)[:40]}"; {nearest(str(value), map(str, allowed))}'
