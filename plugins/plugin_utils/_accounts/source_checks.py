# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does not fit together in a profile, its names, areas and sources, each mistake as one line.

A source that a section forgot is missed once for the section, and one that is misspelt once for the file: the many
facts that hang on it are not told one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._input.diagnostics import Mistake, Place, nearest
from .._text.sanitise import visible
from .facts import (
    DAY,
    WRAPPER,
    ProfileFile,
    Tree,
    bare_values,
    find_named_sources,
    find_unsourced,
    find_wrappers,
    list_old,
)

DOCUMENTED_MONTHS = 24
UNJUDGED = "unjudged"  # a key that areas get of which too little is left to judge them (sound_part.py)
MistakeAt = Callable[..., Mistake]  # of a place of the whole profile, the words, and whether the key is to blame


def check_wrappers(document: Any) -> Iterator[tuple[Place, str, bool]]:
    """What is wrong with each {value, source, date}: its place as written, the words, and whether its key is meant."""
    for place, node in find_wrappers(document):
        for key in node.keys() - set(WRAPPER):
            yield (*place, key), f'unknown key "{key}" next to "value"; {nearest(str(key), WRAPPER)}', True
        for key in node.keys() & {"source", "date"}:
            if not isinstance(node[key], str) or not node[key]:
                yield (*place, key), f'"{key}" must be text.', False
            elif visible(node[key]) != node[key]:
                yield (*place, key), f'"{key}" must be text in one line, without invisible characters.', False
        if isinstance(node.get("date"), str) and node["date"] and not DAY.fullmatch(node["date"]):
            yield (*place, "date"), '"date" must be a date, such as 2026-11-22, 2026-11 or 2026.', False


def check_references(profile: dict[str, Any], name: str, wrong: MistakeAt) -> Iterator[Mistake]:
    """Yield what a schema cannot say: names that must agree, and areas that say where they are."""
    if profile.get("id", name) != name:
        yield wrong(("id",), f'"id" must be "{name}", as in the name of the file.')
    storage = profile.get("storage", [])
    areas = [area["name"] for area in storage if "name" in area]
    for index, area in enumerate(storage):
        if "name" not in area or UNJUDGED in area:
            continue
        text = describe_wrong_area(area, [one.get("name") for one in storage[:index]])
        if text:
            yield wrong(("storage", index, "name"), f'area "{area["name"]}" {text}')
    for index, step in enumerate(profile.get("human_steps", [])):
        area = step.get("area")
        if "every_days" in step and "done" in step:
            yield wrong(
                ("human_steps", index),
                '"every_days" cannot be combined with "done": a step that is checked '
                "automatically needs no date. Remove one of the two.",
            )
        if "secret" in step and step.get("done") != "key":
            yield wrong(
                ("human_steps", index),
                '"secret" needs "done: key": it names the key that the step creates. '
                'Add "done: key" or remove "secret".',
            )
        if (step.get("done") == "link") != (area is not None):
            yield wrong(
                ("human_steps", index),
                '"done: link" and "area" need each other: "area" names the storage '
                "area whose path the step finds. Set both or none.",
            )
        elif area is not None and area not in areas:
            text = f'unknown storage area "{area}"; {nearest(area, areas)}'
            yield wrong(("human_steps", index, "area"), text)
    for part, key in (("caches", "area"), ("caches", "off_home"), ("conda", "area")):
        area = profile.get(part, {}).get(key)
        if area is not None and area not in areas:
            yield wrong((part, key), f'unknown storage area "{area}"; {nearest(area, areas)}')


def describe_wrong_area(area: dict[str, Any], before: list[str]) -> str | None:
    """Return what is wrong with an area of a profile, given the names of those before it."""
    if area["name"] in before:
        return "is a duplicate; remove one of the two."
    if len({"path", "variable", "ask"} & area.keys()) != 1:
        return 'needs "path", "variable" or "ask".'
    if {"hard_bytes", "grace_days"} & area.keys() and not {"bytes", "hard_bytes", "grace_days"} <= area.keys():
        return 'needs "bytes", "hard_bytes" and "grace_days" together.'
    if area.get("create") and "root" not in area:
        return 'has "create", so it needs "root", the folder that the site has created.'
    return None


def check_sources(files: Sequence[ProfileFile], tree: Tree, wrong: MistakeAt) -> Iterator[Mistake]:
    """Yield a mistake for each source without a name or a day, and for each fact of programs without a source.

    A profile without sources, or with the status "own", needs none.
    """
    if "sources" in tree and "format" not in tree:
        text = (
            'a profile with sources needs "format: 2", and each of its sources needs "id" and "date" or "read": see '
            "docs/clusters.md."
        )
        yield wrong(("sources",), text, True)
        return
    advice = [one for file in files for one in check_source_list(file)]
    if advice:  # what facts say of them can be judged when they are right
        yield from advice
        return
    known = {source["id"] for source in tree.get("sources", ())}
    for file in files:
        yield from find_unknown_sources(file, known)
    if "sources" not in tree or tree.get("status") == "own":
        return
    sections: dict[Place, list[str]] = {}  # one line for a section that forgot its source, not one for each fact
    for fact in find_unsourced(tree):
        if fact.source is None:
            *section, name = fact.place
            sections.setdefault(tuple(section), []).append(str(name))
    if tree.get("status") == "documented" and "verified_on" in tree:
        yield from check_age(tree, wrong)
    for place, names in sections.items():
        text = f'no source for {", ".join(names)}; add "source: ID" next to it, or write {{value: ..., source: ID}}.'
        yield wrong((*place, names[0]), text, True)


def check_age(tree: Tree, wrong: MistakeAt) -> Iterator[Mistake]:
    """Yield a mistake if a documented profile rests on a text that was too old when it was compared."""
    old = list_old(tree, bare_values(tree["verified_on"]), DOCUMENTED_MONTHS)
    if old:
        first = min(old, key=lambda fact: str(fact.date))
        text = (
            f'"documented" is for texts at most {DOCUMENTED_MONTHS} months old on the day of "verified_on"; '
            f'{first.field} is from "{first.source}" of {first.date}. Find a newer text, or write "legacy".'
        )
        yield wrong(("status",), text)


def check_source_list(file: ProfileFile) -> Iterator[Mistake]:
    """Yield what is wrong with the sources of one file."""
    listed = file.document.get("sources", [])
    for index, source in enumerate(listed):
        text = describe_wrong_source(source, [one.get("id") for one in listed[:index]])
        if text:
            yield file.lines.mistake(("sources", index), f'item {index + 1} of "sources" {text}', True)


def find_unknown_sources(file: ProfileFile, known: set[str]) -> Iterator[Mistake]:
    """The sources that a file names and that are not among those which are known: one mistake for each."""
    places: dict[str, list[Place]] = {}
    for place, word in find_named_sources(file.document):
        if word not in known:
            places.setdefault(word, []).append(place)
    for word, (first, *more) in places.items():
        often = f" ({len(more) + 1} times)" if more else ""
        yield file.lines.mistake(first, f'unknown source "{word}"{often}; {nearest(word, known)}')


def describe_wrong_source(source: dict[str, Any], before: list[str]) -> str | None:
    """Return what is wrong with a source, given the names of those before it."""
    if "id" not in source:
        return 'has no "id", by which facts refer to it; add it.'
    if source["id"] in before:
        return f'repeats the "id" "{source["id"]}" of another source; change it.'
    if "url" not in source and not source.get("third_party"):
        return 'has no "url"; add it. Only a source with "third_party: true" can omit it.'
    if len({"date", "read"} & source.keys()) != 1:
        return 'needs "date", the date of the text, or "read", the day on which it was read.'
    return None
