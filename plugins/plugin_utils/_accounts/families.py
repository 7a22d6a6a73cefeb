# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put a profile together from its own file and that of its family, and find the line of anything in either.

A family holds what its clusters share. What a profile says itself goes before; areas, steps and sources of one name are
joined, policies and traps of both are kept. A policy is named by its first words: policies.keeping-data-in-folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .._input.diagnostics import Mistake, Place
from .._input.json_schema import Schema
from .facts import ProfileFile, SourcedValue, Tree, bare_values, find_written_place, strip_sources
from .fields import SEVERAL_FACTS

WORDS_OF_A_NAME = 4  # of a sentence
NAMED_BY = {"sources": "id", "storage": "name", "human_steps": "id", "launchers": "name", "hosts": "host"}


def merge_family(base: Tree, own: Tree, key: str = "") -> Tree:
    """Return what a family says, with what a profile says in its place or beside it."""
    if isinstance(base, dict) and isinstance(own, dict):
        return {**base, **{name: merge_family(base.get(name), item, name) for name, item in own.items()}}
    if not (isinstance(base, list) and isinstance(own, list)):
        return own
    if key in SEVERAL_FACTS:
        return base + own
    if key not in NAMED_BY:
        return own
    theirs, mine = ({_name(item, key): item for item in items} for items in (base, own))
    return [*(merge_family(item, mine.get(name, {})) for name, item in theirs.items()), *_items_of_own(mine, theirs)]


def list_places(base: Tree, before: str = "", key: str = "") -> Iterator[str]:
    """Every place of a family's facts, as a profile names it: home.path, storage.scratch.purge."""
    if isinstance(base, dict):
        items = base
    else:
        is_named = key in NAMED_BY or key in SEVERAL_FACTS
        items = {_name(item, key): item for item in base} if isinstance(base, list) and is_named else {}
    for name, item in items.items():
        yield f"{before}{name}"
        yield from list_places(item, f"{before}{name}.", name)


def remove_fact(base: Tree, place: str, key: str = "") -> Tree:
    """A family's facts without what stands at one of its places_by_name."""
    name, _dot, rest = place.partition(".")
    if isinstance(base, list):
        left = [(item, _name(item, key) == name) for item in base]
        return [remove_fact(item, rest) if meant else item for item, meant in left if rest or not meant]
    if not rest:
        return {word: item for word, item in base.items() if word != name}
    return {**base, name: remove_fact(base[name], rest, name)}


def _items_of_own(mine: dict[Any, Tree], theirs: dict[Any, Tree]) -> list[Tree]:
    return [item for name, item in mine.items() if name not in theirs]


def _name(item: Tree, key: str) -> Any:
    if key in SEVERAL_FACTS:
        return "-".join(re.findall(r"[a-z0-9_]+", item.value.lower())[:WORDS_OF_A_NAME])
    name = item.get(NAMED_BY[key])
    return name.value if isinstance(name, SourcedValue) else name


def loosen_schema(schema: Schema) -> Schema:
    """A schema that lacks nothing: for a file which is only a part. A name is needed even there."""

    def loose(node: Any, key: str) -> Any:
        if isinstance(node, list):
            return [loose(item, "") for item in node]
        if not isinstance(node, dict):
            return node
        needed = [name for name in node.get("required", ()) if name == NAMED_BY.get(key)]
        rest = {
            name: loose(item, key if name == "items" else name) for name, item in node.items() if name != "required"
        }
        return {**rest, "required": needed} if needed else rest

    made: Schema = loose(schema, "")
    return made


def locate_mistake(files: Sequence[ProfileFile], tree: Tree, place: Place, text: str, at_key: bool = False) -> Mistake:
    """A mistake at a place of the whole profile: in the first of its files that has the place, else around it."""
    steps = _name_steps(bare_values(tree), place)
    for length in range(len(steps), -1, -1):
        for file in files:
            found = _index_steps(strip_sources(file.document), steps[:length])
            if found is not None:
                at_the_thing = length == len(steps)
                return file.lines.mistake(find_written_place(file.document, found), text, at_key or not at_the_thing)
    raise AssertionError("the empty place is in every file")


def _name_steps(node: Any, place: Place) -> Place:
    """A place in which the items of lists are named rather than counted."""
    steps: list[str | int] = []
    key = ""
    for step in place:
        inside = step in node if isinstance(node, dict) else isinstance(node, list)
        node = node[step] if inside else None
        name = node.get(NAMED_BY[key]) if isinstance(step, int) and key in NAMED_BY and isinstance(node, dict) else None
        steps.append(name or step)
        key = step if isinstance(step, str) else ""
    return tuple(steps)


def _index_steps(node: Any, steps: Place) -> Place | None:
    """The place of these steps in one file; None where it has nothing there."""
    place: list[str | int] = []
    key = ""
    for step in steps:
        if isinstance(node, list):
            names = [item.get(NAMED_BY[key]) if key in NAMED_BY and isinstance(item, dict) else None for item in node]
            at = names.index(step) if step in names else step
            if not isinstance(at, int) or at >= len(node):
                return None
        else:
            at = step
            if not isinstance(node, dict) or step not in node:
                return None
        node = node[at]
        place.append(at)
        key = step if isinstance(step, str) and not isinstance(node, str) else ""
    return tuple(place)
