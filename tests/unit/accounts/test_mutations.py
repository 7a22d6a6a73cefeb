"""Every wrong value in a profile that ships is told in one line: the file, the line, and the nearest word.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import is_wrapped, strip_sources
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.fields import ABOUT_PROFILE
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import SHIPPED, read_sourced, schema
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes, YamlText
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.yaml_loader import Loader

from tests.effort import sample

TEXT = schema("cluster")["$defs"]["text"]["pattern"]
FAMILY_OF = {
    "alliance": "narval",
    "cscs": "daint",
    "tacc": "vista",
    "ulhpc": "iris",
    "alcf": "polaris",
}  # whom a family is read with
FILES = [*sorted(SHIPPED.glob("*.yml")), *sorted((SHIPPED / "families").glob("*.yml"))]


class Mutation(NamedTuple):
    """A file, where a text stands in it, what is written in its place, and what must be said."""

    file: Path
    start: int
    end: int
    line: int
    wrong: str
    words: str


def schema_at(place: tuple[Any, ...]) -> dict[str, Any]:
    """The schema of the plain value at a place."""
    root: dict[str, Any] = schema("cluster")
    node = root
    for step in place:
        node = node["items"] if isinstance(step, int) else node.get("properties", {}).get(step, {})
        if "$ref" in node:
            node = root["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def scalars(node: yaml.Node, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], yaml.ScalarNode]]:
    """Every scalar value of a text, with its place as written."""
    if isinstance(node, yaml.ScalarNode):
        yield place, node
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from scalars(value, (*place, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from scalars(value, (*place, index))


def keys(node: yaml.Node, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], yaml.ScalarNode]]:
    """Every key of a text below a section, with its place as written."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*place, key.value), key
            yield from keys(value, (*place, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from keys(value, (*place, index))


def wrong_value(place: tuple[Any, ...], text: str) -> tuple[str, str] | None:
    """A wrong word for a value, and what must be said of it; None where any words may stand."""
    if place[-1] == "source" and place[0] not in ABOUT_PROFILE:
        return f"{text}z", f'did you mean "{text}"?'
    expected = schema_at(tuple(step for step in place if step != "value"))
    if "enum" in expected:
        return f"{text}z", f'did you mean "{text}"?' if len(text) > 2 and text.islower() else f'cannot be "{text}z"'
    kind = expected.get("type")
    if kind in ("integer", "boolean"):
        return "plenty", "must be a whole number, not text" if kind == "integer" else "must be true or false, not text"
    if place[-1] == "date" and place[-2:-1] != ("sources",) and place[0] not in ABOUT_PROFILE:
        return "soon", '"date" must be a date'
    if kind == "string" and expected.get("pattern") == TEXT and place[0] != "without":
        return '"a\\e[2J"', "contains the character \\u001b, which is not supported here"
    if kind == "string" and "pattern" in expected and place[0] != "without":
        return '"; rm -rf ~"', "is invalid"
    return None


def mutations() -> Iterator[Mutation]:
    for file in FILES:
        text = file.read_text()
        root = yaml.compose(text, Loader=Loader)
        document = YamlText(file, text).document()
        for place, node in scalars(root):
            change = wrong_value(place, node.value)
            if change and node.start_mark.line == node.end_mark.line:
                line = node.start_mark.line + 1
                yield Mutation(file, node.start_mark.index, node.end_mark.index, line, *change)
        for place, node in keys(root):
            if len(node.value) > 3 and can_be_missed(document, place):
                at = node.start_mark
                wrong = node.value[:2] + node.value[3:]
                told = f'unknown key "{wrong}"; did you mean "{node.value}"?'
                yield Mutation(file, at.index, node.end_mark.index, at.line + 1, wrong, told)


def can_be_missed(document: Any, place: tuple[Any, ...]) -> bool:
    """Whether nothing else is missing when a key is misspelt: it is not needed, and no others hang on it."""
    if "value" in place or place[0] in ("sources", "sandbox_environment"):
        return False
    holder = document
    for step in place[:-1]:
        holder = holder[step]
    around = schema_at(tuple(step for step in place[:-1] if step != "value"))
    hang_on = {"source", "path", "variable", "ask", "root", "create", "date", "area", "done", "storage", "extends"}
    needed = {*around.get("required", ()), *hang_on}
    return not is_wrapped(holder) and place[-1] not in needed and place[-1] in around.get("properties", {})


@pytest.fixture(scope="module")
def copies(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("mutated") / "clusters"
    shutil.copytree(SHIPPED, folder)
    return folder


def test_every_wrong_value_is_told_in_one_line_with_its_place(copies, count):
    every = list(mutations())
    assert len(every) > 1000
    taken = sample(every, 200, "mutated profiles")
    for one in taken:
        text = one.file.read_text()
        file = copies / one.file.relative_to(SHIPPED)
        file.write_text(text[: one.start] + one.wrong + text[one.end :])
        read = copies / f"{FAMILY_OF.get(one.file.stem, one.file.stem)}.yml"
        try:
            read_sourced(read)
        except Mistakes as mistakes:
            found = mistakes.found
        else:
            found = []
        file.write_text(text)
        seen = [f"{each.file.name}:{each.line}: {each.text}" for each in found]
        assert len(found) == 1, (one, seen)
        assert (found[0].file, found[0].line) == (file, one.line), (one, seen)
        assert one.words in found[0].text, (one, seen)
    count("mutated profiles", len(taken), 0)


def test_the_copies_are_right_when_nothing_is_changed(copies):
    for file in sorted(copies.glob("*.yml")):
        assert read_sourced(file).profile == strip_sources(read_sourced(SHIPPED / file.name).profile)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_text_loses_its_end_to_a_comment(file):
    """Behind a blank, YAML takes # for one: half of a sentence was lost so, twice."""
    lines = file.read_text().splitlines()
    for _place, node in scalars(yaml.compose(file.read_text(), Loader=Loader)):
        end = node.end_mark
        behind = lines[end.line][end.column :] if end.line < len(lines) else ""
        assert not behind.strip().startswith("#"), lines[end.line]
