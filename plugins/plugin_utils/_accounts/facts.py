# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who says each fact of a profile, and since when.

A fact is written plainly (bytes: 5000000000) or with its source ({value: 5000000000, source: storage, date: 2026-01}).
A source that a section names holds for every fact of the section which names none of its own. Programs are given the
plain values; the sources are for people, and for the check that no fact is without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._input.diagnostics import Place, YamlText
from .fields import ABOUT_PROFILE, SEVERAL_FACTS, is_relied_on

WRAPPER = ("value", "source", "date")
DAY = re.compile(r"20[0-9]{2}(-[01][0-9](-[0-3][0-9])?)?")


@dataclass(frozen=True)
class SourcedValue:
    """One value as it is said: by which source (its id), and on which day where that differs from the source's own."""

    value: Any
    source: str | None = None
    date: str | None = None


@dataclass(frozen=True)
class Fact:
    """A fact with its place in the profile, its field as the table of fields names it, and who says it when."""

    place: Place
    field: str
    value: Any
    source: str | None
    date: str | None


@dataclass(frozen=True)
class ProfileFile:
    """One file of a profile: its lines, and the document as it is written."""

    lines: YamlText
    document: dict[str, Any]


Tree = Any  # mappings, lists and, at the ends, Said; below ABOUT_PROFILE, plain values


def is_wrapped(node: Any) -> bool:
    """Return True if a written node is a value with its source. No mapping of a profile has a key called value."""
    return isinstance(node, dict) and "value" in node


def strip_sources(node: Any) -> Any:
    """A written profile with every {value, source, date} replaced by its value."""
    if is_wrapped(node):
        return strip_sources(node["value"])
    if isinstance(node, dict):
        return {key: strip_sources(item) for key, item in node.items()}
    return [strip_sources(item) for item in node] if isinstance(node, list) else node


def find_written_place(document: Any, place: Place) -> Place:
    """Return where in the written profile the thing stands that is at this place when all is unwrapped."""
    way: list[str | int] = []
    node = document
    for step in (*place, None):
        while is_wrapped(node):
            node = node["value"]
            way.append("value")
        if step is None:
            break
        way.append(step)
        inside = isinstance(node, dict) and step in node
        at = isinstance(node, list) and isinstance(step, int) and step < len(node)
        node = node[step] if inside or at else None
    return tuple(way)


def spread_sources(document: Mapping[str, Any]) -> Tree:
    """A written profile with the source of every section at each of its values."""
    return {
        key: item if key in ABOUT_PROFILE else _spread_value(item, key, None, None) for key, item in document.items()
    }


def _spread_value(node: Any, key: str, source: str | None, date: str | None) -> Tree:
    if is_wrapped(node):
        own = node.get("source")
        # A date belongs to the source beside it; it is not lent to another one.
        return _spread_value(node["value"], key, own or source, node.get("date") or (None if own else date))
    if isinstance(node, dict):
        own = node.get("source")
        inherited = (own, None) if isinstance(own, str) else (source, date)
        return {name: _spread_value(item, name, *inherited) for name, item in node.items() if name != "source"}
    if isinstance(node, list) and (key in SEVERAL_FACTS or any(isinstance(item, dict) for item in node)):
        return [_spread_value(item, "", source, date) for item in node]
    return SourcedValue(node, source, date)


def bare_values(tree: Tree) -> Any:
    """The values alone."""
    if isinstance(tree, SourcedValue):
        return tree.value
    if isinstance(tree, dict):
        return {key: bare_values(item) for key, item in tree.items()}
    return [bare_values(item) for item in tree] if isinstance(tree, list) else tree


def list_facts(tree: Tree) -> Iterator[Fact]:
    """Every fact, in the order of the profile. A fact that has no date of its own has its source's."""
    dates = {one.get("id"): one.get("date") or one.get("read") for one in tree.get("sources", ())}
    for key, item in tree.items():
        if key not in ABOUT_PROFILE:
            yield from _list_below(item, (key,), key, dates)


def _list_below(tree: Tree, place: Place, field: str, dates: Mapping[Any, Any]) -> Iterator[Fact]:
    if isinstance(tree, SourcedValue):
        yield Fact(place, field, tree.value, tree.source, tree.date or dates.get(tree.source))
        return
    for key, item in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield from _list_below(item, (*place, key), f"{field}.{key}" if isinstance(tree, dict) else f"{field}[]", dates)


def find_unsourced(tree: Tree) -> list[Fact]:
    """The facts that a program relies on and that nobody vouches for: without a source, or without a day."""
    return [fact for fact in list_facts(tree) if is_relied_on(fact.field) and not (fact.source and fact.date)]


def count_months(date: str, day: str) -> int:
    """Return the whole months from a date, which may lack its day or month, to a day."""
    (year, month, *at), (to_year, to_month, *to_at) = ([int(part) for part in one.split("-")] for one in (date, day))
    return (to_year - year) * 12 + to_month - month - (at > to_at)


def is_older(fact: Fact, day: str, months: int) -> bool:
    """Return True if the text of a fact was older than so many months on a day."""
    return bool(fact.date) and count_months(_whole(fact.date or ""), day) >= months


def list_old(tree: Tree, day: str, months: int) -> list[Fact]:
    """Return the facts whose texts were older than so many months on a day."""
    return [fact for fact in list_facts(tree) if is_older(fact, day, months)]


def find_oldest(tree: Tree) -> str:
    """Return the date of the oldest text that a fact rests on; empty where none has a date."""
    return min((_whole(fact.date) for fact in list_facts(tree) if fact.date), default="")


def name_fact(tree: Tree, fact: Fact) -> str:
    """Return a fact's place with areas by their names: storage.scratch.bytes."""
    steps = list(fact.place)
    if steps[0] == "storage":
        steps[1] = tree["storage"][steps[1]]["name"].value
    return ".".join(map(str, steps))


def _whole(date: str) -> str:
    """Return a date with its month: the last one of a year, where it names none."""
    return date if "-" in date else f"{date}-12"


def find_wrappers(node: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every {value, source, date} of a written profile, with its place there."""
    if is_wrapped(node):
        yield place, node
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from find_wrappers(item, (*place, key))


def find_named_sources(document: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Every mention of a source in a written profile, with its place there."""
    for key, item in document.items():
        if key not in ABOUT_PROFILE:
            yield from _find_below(item, (key,))


def _find_below(node: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(node, dict) and isinstance(node.get("source"), str):
        yield (*place, "source"), node["source"]
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _find_below(item, (*place, key))
