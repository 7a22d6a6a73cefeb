"""No field of a profile is dead text: something reads it, will read it and is named, or it is shown to people.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import ABOUT, SEVERAL
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.fields import CHOSEN, COMING, READ, TOLD
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import COLLECTION, schema


def fields(node: dict[str, Any], place: str = "") -> Iterator[str]:
    """Every field of a schema that holds a fact."""
    properties = node.get("properties")
    if properties:
        for name, each in properties.items():
            if name != "source" and not (not place and name in ABOUT):
                yield from fields(each, f"{place}.{name}" if place else name)
    elif node.get("type") == "array" and "properties" in node["items"]:
        yield from fields(node["items"], place + "[]")
    else:
        yield place + ("[]" if place.rpartition(".")[2] in SEVERAL else "")


def words(file: str) -> set[str]:
    """The words that a source uses as keys, attributes or options."""
    tree = ast.parse((COLLECTION / "plugins" / file).read_text(encoding="utf-8"))
    return {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def test_the_tables_name_every_field_once():
    named = [*READ, *COMING, *CHOSEN, *TOLD]
    assert sorted(named) == sorted(set(named))
    assert set(named) == set(fields(schema("cluster")))


@pytest.mark.parametrize(("field", "file"), sorted({**READ, **CHOSEN}.items()))
def test_the_file_that_is_said_to_read_a_field_uses_its_word(field, file):
    assert field.rpartition(".")[2].removesuffix("[]") in words(file)


def test_what_is_to_come_names_a_door_or_a_job():
    assert {words.partition(":")[0] for words in COMING.values()} == {"doors", "jobs"}
