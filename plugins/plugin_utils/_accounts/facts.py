# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sources and dates of the facts of a profile.

A fact is written as a plain value (bytes: 5000000000) or in a wrapper with its source ({value: 5000000000, source:
storage, date: 2026-01}). The source of a section applies to each fact of the section that has no source of its own.
Programs get the plain values. The sources are for people, and for the check that each fact has one.

A place is the path of a value, a tuple of keys and indexes. ABOUT_PROFILE: the top-level keys whose values need no
source. SEVERAL_FACTS: the keys of lists of sentences, each of which is a fact of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._input.diagnostics import Place, YamlText
from .fields import ABOUT_PROFILE, SEVERAL_FACTS, is_relied_on

WRAPPER_KEYS = ("value", "source", "date")
DATE = re.compile(r"20[0-9]{2}(-[01][0-9](-[0-3][0-9])?)?")


@dataclass(frozen=True)
class SourcedValue:
    """A value with the id of its source, and with its date if that differs from the date of the source."""

    value: Any
    source: str | None = None
    date: str | None = None


@dataclass(frozen=True)
class Fact:
    """A fact: its place in the profile, the name of its field in the table of fields, its value, source and date.

    source: the id of its source. source, date: None if unknown.
    """

    place: Place
    field: str
    value: Any
    source: str | None
    date: str | None


@dataclass(frozen=True)
class ProfileFile:
    """A file of a profile or family: its lines, for messages, and its document, in which facts may be wrapped."""

    lines: YamlText
    document: dict[str, Any]


Tree = Any  # a profile whose values are each a SourcedValue, except for plain values below ABOUT_PROFILE


def is_wrapped(node: Any) -> bool:
    """Return True if a node is a wrapper {value, source, date}. No other mapping of a profile has the key value."""
    return isinstance(node, dict) and "value" in node


def strip_sources(node: Any) -> Any:
    """Return a document, or a part of one (node), with each wrapper replaced by its value."""
    if is_wrapped(node):
        return strip_sources(node["value"])
    if isinstance(node, dict):
        return {key: strip_sources(item) for key, item in node.items()}
    return [strip_sources(item) for item in node] if isinstance(node, list) else node


def find_written_place(document: Any, place: Place) -> Place:
    """Return the place in a document with wrappers, given the place in the same document without wrappers.

    (home, bytes) becomes (home, bytes, value) if the value of bytes is wrapped.
    """
    written: list[str | int] = []
    node = document
    for step in (*place, None):  # None: the last node may be a wrapper, too
        while is_wrapped(node):
            node = node["value"]
            written.append("value")
        if step is None:
            break
        written.append(step)
        has_key = isinstance(node, dict) and step in node
        has_index = isinstance(node, list) and isinstance(step, int) and step < len(node)
        node = node[step] if has_key or has_index else None  # None: the document lacks the place
    return tuple(written)


def spread_sources(document: Mapping[str, Any]) -> Tree:
    """Return the tree of a document: each value with its own source, or else with the source of its section."""
    return {
        key: strip_sources(item) if key in ABOUT_PROFILE else _spread_value(item, key, source=None, date=None)
        for key, item in document.items()
    }


def _spread_value(node: Any, key: str, source: str | None, date: str | None) -> Tree:
    """Return the tree of one value (node). key: its key. source, date: those of the section around it."""
    if is_wrapped(node):
        own_source = node.get("source")
        # The date of the section belongs to the source of the section, so it does not apply to another source.
        inherited_date = None if own_source else date
        return _spread_value(node["value"], key, own_source or source, node.get("date") or inherited_date)
    if isinstance(node, dict):
        own_source = node.get("source")
        inherited = (own_source, None) if isinstance(own_source, str) else (source, date)  # for all values below
        return {name: _spread_value(item, name, *inherited) for name, item in node.items() if name != "source"}
    # Other lists are one value: [x86_64, aarch64].
    if isinstance(node, list) and (key in SEVERAL_FACTS or any(isinstance(item, dict) for item in node)):
        return [_spread_value(item, key="", source=source, date=date) for item in node]
    return SourcedValue(node, source, date)


def bare_values(tree: Tree) -> Any:
    """Return the values of a tree without their sources."""
    if isinstance(tree, SourcedValue):
        return tree.value
    if isinstance(tree, dict):
        return {key: bare_values(item) for key, item in tree.items()}
    return [bare_values(item) for item in tree] if isinstance(tree, list) else tree


def list_facts(tree: Tree) -> Iterator[Fact]:
    """Yield the facts of a tree in the order of the profile. A fact without a date gets the date of its source."""
    dates = {source.get("id"): source.get("date") or source.get("read") for source in tree.get("sources", ())}
    for key, item in tree.items():
        if key not in ABOUT_PROFILE:
            yield from _list_below(item, (key,), key, dates)


def _list_below(tree: Tree, place: Place, field: str, dates: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the facts of a part of a tree. place, field: as in Fact, for the part. dates: of the sources, by id."""
    if isinstance(tree, SourcedValue):
        yield Fact(place, field, tree.value, tree.source, tree.date or dates.get(tree.source))
        return
    for key, item in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield from _list_below(item, (*place, key), f"{field}.{key}" if isinstance(tree, dict) else f"{field}[]", dates)


def find_unsourced(tree: Tree) -> list[Fact]:
    """Return the facts that programs rely on although they have no source or no date."""
    return [fact for fact in list_facts(tree) if is_relied_on(fact.field) and not (fact.source and fact.date)]


def count_months(start: str, end: str) -> int:
    """Return the number of whole months from start, YYYY-MM or YYYY-MM-DD, to end, YYYY-MM-DD."""
    # Without a day in start, day is [], which is smaller than any [end_day]: the last month then counts as whole.
    (year, month, *day), (end_year, end_month, *end_day) = (map(int, date.split("-")) for date in (start, end))
    return (end_year - year) * 12 + end_month - month - (day > end_day)


def is_older(fact: Fact, day: str, months: int) -> bool:
    """Return True if the source text of a fact was at least this many months old on a day, YYYY-MM-DD.

    A fact without a date is never old.
    """
    return bool(fact.date and count_months(_add_month(fact.date), day) >= months)


def find_old_facts(tree: Tree, day: str, months: int) -> list[Fact]:
    """Return the facts whose source text was at least this many months old on a day, YYYY-MM-DD."""
    return [fact for fact in list_facts(tree) if is_older(fact, day, months)]


def find_oldest_date(tree: Tree) -> str:
    """Return the date of the oldest source text of a fact, with its month; empty if no fact has a date."""
    return min((_add_month(fact.date) for fact in list_facts(tree) if fact.date), default="")


def name_fact(tree: Tree, fact: Fact) -> str:
    """Return the name of a fact, with the name of a storage area instead of its index: storage.scratch.bytes."""
    steps = list(fact.place)
    if steps[0] == "storage":
        steps[1] = tree["storage"][steps[1]]["name"].value
    return ".".join(map(str, steps))


def _add_month(date: str) -> str:
    """Return the date of a text with its month. A year alone becomes its December: the text may be that new."""
    return date if "-" in date else f"{date}-12"


def find_wrappers(node: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield each wrapper in a document, or in a part of one (node), with its place. place: of the part."""
    if is_wrapped(node):
        yield place, node
    for step, item in list_children(node):
        yield from find_wrappers(item, (*place, step))


def find_source_references(document: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield each reference to a source in a document: its place, and the id of the source."""
    for key, item in document.items():
        if key not in ABOUT_PROFILE:
            yield from _find_references_below(item, (key,))


def _find_references_below(node: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """Yield place and source id of each reference in node, a part of a document. place: of that part."""
    if isinstance(node, dict) and isinstance(node.get("source"), str):
        yield (*place, "source"), node["source"]
    for step, item in list_children(node):
        yield from _find_references_below(item, (*place, step))


def list_children(node: Any) -> Iterable[tuple[Any, Any]]:
    """Return key and value of a mapping's entries, or index and value of a list's items; () for other values."""
    if isinstance(node, dict):
        return node.items()
    return enumerate(node) if isinstance(node, list) else ()
