"""Our small schema checker says of every document what the jsonschema library says.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import copy
import random

import jsonschema
import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import strip_sources
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.fields import ABOUT_PROFILE
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import (
    COLLECTION,
    SHIPPED,
    read_profile,
    schema,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.source_checks import check_wrappers
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import YamlText
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import Checker

from tests.effort import EXHAUSTIVE, chance, turns

pytestmark = turns(3)

MUTATED = 400 if EXHAUSTIVE else 80  # documents of each file
DOCUMENTS = [("cluster", file) for file in sorted(SHIPPED.glob("*.yml"))]
DOCUMENTS.append(("accounts", COLLECTION / "inventory" / "practice.yml"))

VALUES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2.0,
    2.5,
    "",
    "x",
    "/a/{user}",
    "$X",
    "{y}",
    [],
    ["a"],
    [1],
    {},
    {"a": 1},
]


def places(node, place=()):
    yield place
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, item in items:
        yield from places(item, (*place, key))


def mutated(document, choice: random.Random):
    """The document with one value replaced, one key taken out, renamed or added, or one item doubled."""
    copied = copy.deepcopy(document)
    place = choice.choice([each for each in places(copied) if each])
    parent = copied
    for step in place[:-1]:
        parent = parent[step]
    action = choice.choice(["replace", "remove", "rename", "add"])
    if action == "replace":
        parent[place[-1]] = copy.deepcopy(choice.choice(VALUES))
    elif action == "remove":
        del parent[place[-1]]
    elif isinstance(parent, dict):
        value = parent.pop(place[-1]) if action == "rename" else "x"
        parent[str(place[-1]) + choice.choice(["x", "@", " "])] = value
    else:
        parent.append(copy.deepcopy(choice.choice(VALUES)))
    return copied


@turns(4)
@pytest.mark.parametrize(("name", "file"), DOCUMENTS, ids=lambda each: getattr(each, "stem", each))
def test_it_agrees_on_valid_and_mutated_documents(name, file):
    document = read_profile(file) if name == "cluster" else YamlText(file, file.read_text()).document()
    library, ours = jsonschema.Draft202012Validator(schema(name)), Checker(schema(name))
    assert not list(ours.violations(document))
    choice, refused = chance("documents", file.stem), 0
    for _ in range(MUTATED):
        other = mutated(document, choice)
        expected = {tuple(error.absolute_path) for error in library.iter_errors(other)}
        found = {each.place for each in ours.violations(other)}
        assert bool(found) == bool(expected), other
        refused += bool(found)
    assert MUTATED / 8 < refused < MUTATED


KEYWORDS = {
    "$schema",
    "$comment",
    "$id",
    "title",
    "description",
    "examples",  # for people: what is said of a wrong value ends with one
    "type",
    "properties",
    "additionalProperties",
    "required",
    "enum",
    "pattern",
    "items",
    "minItems",
    "minLength",
    "maximum",
    "minimum",
    "minProperties",
    "propertyNames",
    "$ref",
    "$defs",
}


def test_the_schemas_use_nothing_that_it_does_not_know():
    def keywords(node):
        yield from node
        for key, value in node.items():
            if key in ("properties", "$defs"):
                for each in value.values():
                    yield from keywords(each)
            elif isinstance(value, dict):
                yield from keywords(value)

    for name in ("cluster", "accounts"):
        assert set(keywords(schema(name))) <= KEYWORDS


def wrapped(node, choice: random.Random):
    """A document with some of its values written with their source."""
    if isinstance(node, dict):
        made = {key: item if key == "source" else wrapped(item, choice) for key, item in node.items()}
    else:
        made = [wrapped(item, choice) for item in node] if isinstance(node, list) else node
    return {"value": made, "source": "page", "date": "2026-11"} if choice.random() < 0.4 else made


@turns(4)
@pytest.mark.parametrize("file", [file for name, file in DOCUMENTS if name == "cluster"], ids=lambda file: file.stem)
def test_what_is_written_with_sources_is_judged_as_the_published_schema_says(file):
    """An editor that reads profile.schema.json refuses what we refuse."""
    whole = read_profile(file)
    whole.pop("extends", None)  # of a family as well; what it gives is in there
    library, ours = jsonschema.Draft202012Validator(schema("profile")), Checker(schema("cluster"))
    choice, refused = chance("sources", file.stem), 0
    for _ in range(MUTATED // 2):
        document = {key: item if key in ABOUT_PROFILE else wrapped(item, choice) for key, item in whole.items()}
        other = mutated(document, choice) if choice.random() < 0.8 else document
        expected = any(library.iter_errors(other))
        found = [*ours.violations(strip_sources(other)), *check_wrappers(other)]
        assert any(not lacks_in_a_section(one) for one in found) == expected, other
        refused += expected
    assert MUTATED / 8 < refused < MUTATED / 2


def lacks_in_a_section(one) -> bool:
    """What a family may give, the published schema cannot ask of one file."""
    return hasattr(one, "text") and len(one.place) == 1 and " has no " in one.text


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("nine", "a whole number, not text"),
        (True, "a whole number, not true or false"),
        ([1], "a whole number, not a list"),
        ({}, "a whole number, not a mapping"),
        (None, "a whole number, not empty"),
    ],
)
def test_types_are_told_in_words(value, words):
    checker = Checker({"properties": {"n": {"type": "integer"}}})
    (violation,) = checker.violations({"n": value})
    assert words in violation.text


def test_a_template_may_stand_for_any_type_only_where_templates_are_made():
    rules = {"properties": {"n": {"type": "integer"}}}
    assert not list(Checker(rules, may_be_template=lambda place: place == ("n",)).violations({"n": "{{ x }}"}))
    assert list(Checker(rules).violations({"n": "{{ x }}"}))
