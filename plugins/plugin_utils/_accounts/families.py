# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge a profile with its family, and find the file and line of a place in the merged profile.

A family contains the facts that its clusters share. Facts of the profile override them. Storage areas, steps and
sources with the same name are merged; policies and traps of both are kept. A policy is named by its first four words:
policies.keeping-data-in-folders. A place is the path of a value in a profile, a tuple of keys and indexes.
SEVERAL_FACTS: the keys of lists of sentences, such as policies, each of which is a fact of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .._input.diagnostics import Mistake, Place
from .._input.json_schema import Schema
from .facts import ProfileFile, SourcedValue, Tree, bare_values, find_written_place, strip_sources
from .fields import SEVERAL_FACTS

WORDS_OF_A_NAME = 4  # the first words of a sentence are its name
# The key that contains the name of an item, by list.
NAMED_BY = {"sources": "id", "storage": "name", "human_steps": "id", "launchers": "name", "hosts": "host"}


def merge_family(base: Tree, own: Tree, key: str = "") -> Tree:
    """Return the facts of a family (base), overridden and extended by those of a profile (own).

    key: the key of both parts in the section around them, as in NAMED_BY; empty for the whole profile.
    """
    if isinstance(base, dict) and isinstance(own, dict):
        return {**base, **{name: merge_family(base.get(name), item, name) for name, item in own.items()}}
    if not (isinstance(base, list) and isinstance(own, list)):
        return own  # replaces the value of the family
    if key in SEVERAL_FACTS:
        return base + own
    if key not in NAMED_BY:  # a list that is one value: [x86_64, aarch64]
        return own
    base_items, own_items = ({_name_item(item, key): item for item in items} for items in (base, own))
    all_items = {**base_items, **own_items}  # those of the family come first
    return [merge_family(base_items.get(name, {}), own_items.get(name, {})) for name in all_items]


def list_fact_names(base: Tree, prefix: str = "", key: str = "") -> Iterator[str]:
    """Yield the names of a family's facts that "without" may contain: home.path, storage.scratch.purge.

    base: the family, or a section of it. prefix: the name of that section, with a dot. key: the key of that section.
    """
    items = base if isinstance(base, dict) else {}
    if isinstance(base, list) and (key in NAMED_BY or key in SEVERAL_FACTS):  # items of other lists have no names
        items = {_name_item(item, key): item for item in base}
    for name, item in items.items():
        yield f"{prefix}{name}"
        yield from list_fact_names(item, f"{prefix}{name}.", name)


def remove_fact(base: Tree, fact_name: str, key: str = "") -> Tree:
    """Return a family's facts without one of them. fact_name: as list_fact_names yields it. key: the key of base."""
    name, _dot, rest = fact_name.partition(".")
    if isinstance(base, list):
        others = []
        for item in base:
            if _name_item(item, key) != name:
                others.append(item)
            elif rest:  # otherwise the item is the fact to be removed
                others.append(remove_fact(item, rest))
        return others
    if not rest:
        return {field: item for field, item in base.items() if field != name}
    return {**base, name: remove_fact(base[name], rest, name)}


def _name_item(item: Tree, key: str) -> Any:
    """Return the name of a list's item: the first words of a sentence, or the value of the key in NAMED_BY.

    key: the key of the list in the profile.
    """
    if key in SEVERAL_FACTS:
        return "-".join(re.findall(r"[a-z0-9_]+", item.value.lower())[:WORDS_OF_A_NAME])
    name = item.get(NAMED_BY[key])
    return name.value if isinstance(name, SourcedValue) else name


def loosen_schema(schema: Schema) -> Schema:
    """Return the schema without required fields, for a file that is a part of a profile.

    The key with the name of a list's item stays required: items of two files are merged by name.
    """

    def loosen(node: Any, key: str) -> Any:
        """Return a part of the schema without required fields. key: the field that the part describes."""
        if isinstance(node, list):
            return [loosen(item, key="") for item in node]
        if not isinstance(node, dict):
            return node
        required = [name for name in node.get("required", ()) if name == NAMED_BY.get(key)]
        rest = {  # the schema of a list's items belongs to the field of the list
            name: loosen(item, key if name == "items" else name) for name, item in node.items() if name != "required"
        }
        return {**rest, "required": required} if required else rest

    loosened: Schema = loosen(schema, key="")
    return loosened


def locate_mistake(files: Sequence[ProfileFile], tree: Tree, place: Place, text: str, at_key: bool) -> Mistake:
    """Return a mistake with its file and line. place: in the merged profile. at_key: the key is wrong, not its value.

    files: the profile, then its family. tree: both, merged. The line is in the first file that has the place, or else
    at the key of the nearest section around the place.
    """
    steps = _name_steps(bare_values(tree), place)
    for length in range(len(steps), -1, -1):  # from the place itself to the root
        for file in files:
            indexed_place = _index_steps(strip_sources(file.document), steps[:length])
            if indexed_place is not None:
                is_exact = length == len(steps)
                return file.lines.mistake(
                    find_written_place(file.document, indexed_place), text, at_key or not is_exact
                )
    raise AssertionError("unreachable: every profile file has a root")


def _name_steps(node: Any, place: Place) -> Place:
    """Return a place with the names of list items instead of their indexes. node: the values of the merged profile."""
    steps: list[str | int] = []
    key = ""  # of the list around the next step
    for step in place:
        has_step = step in node if isinstance(node, dict) else isinstance(node, list)
        node = node[step] if has_step else None
        is_named = isinstance(step, int) and key in NAMED_BY and isinstance(node, dict)
        name = node.get(NAMED_BY[key]) if is_named else None
        steps.append(name or step)
        key = step if isinstance(step, str) else ""
    return tuple(steps)


def _index_steps(node: Any, steps: Place) -> Place | None:
    """Return a place with the indexes of list items instead of their names; None if the document lacks the place.

    node: the document of one file, without wrappers. steps: the place with names, from _name_steps.
    """
    place: list[str | int] = []
    key = ""  # of the list around the next step
    for step in steps:
        if isinstance(node, list):
            names = [item.get(NAMED_BY[key]) if key in NAMED_BY and isinstance(item, dict) else None for item in node]
            index = names.index(step) if step in names else step  # an item without a name has its index
            if not isinstance(index, int) or index >= len(node):
                return None
        else:
            index = step
            if not isinstance(node, dict) or step not in node:
                return None
        node = node[index]
        place.append(index)
        key = step if isinstance(step, str) else ""
    return tuple(place)
