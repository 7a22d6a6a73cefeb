# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what a schema cannot express about a profile: references between its fields, storage areas, and sources.

A missing source gives one mistake for its section, and an unknown source one mistake for the file, although many facts
may depend on it. A place is the path of a value in a profile, a tuple of keys and indexes; with at_key, the mistake is
at the key, not at its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._input.diagnostics import Mistake, Place, nearest
from .._text.sanitise import visible
from .facts import (
    DATE,
    WRAPPER_KEYS,
    ProfileFile,
    Tree,
    bare_values,
    find_old_facts,
    find_source_references,
    find_unsourced,
    find_wrappers,
)

DOCUMENTED_MONTHS = 24  # the greatest age of a source in a profile with the status documented
UNCHECKED = "unjudged"  # the key that sound_part.py adds to areas that are too incomplete to be checked
AREA_REFERENCES = (("caches", "area"), ("caches", "off_home"), ("conda", "area"))  # fields that name a storage area
MistakeLocator = Callable[..., Mistake]  # (place in the merged profile, text, at_key=False) -> mistake with its line


def check_wrappers(document: Any) -> Iterator[tuple[Place, str, bool]]:
    """Yield the mistakes in wrappers {value, source, date}, each as: place as written, text, and at_key.

    at_key: True if the key is wrong, not its value.
    """
    for place, node in find_wrappers(document):
        for key in node.keys() - set(WRAPPER_KEYS):
            yield (*place, key), f'unknown key "{key}" next to "value"; {nearest(str(key), WRAPPER_KEYS)}', True
        for key in node.keys() & {"source", "date"}:
            if not isinstance(node[key], str) or not node[key]:
                yield (*place, key), f'"{key}" must be text.', False
            elif visible(node[key]) != node[key]:
                yield (*place, key), f'"{key}" must be a single line of text without invisible characters.', False
        if isinstance(node.get("date"), str) and node["date"] and not DATE.fullmatch(node["date"]):
            yield (*place, "date"), '"date" must be a date, such as 2026-11-22, 2026-11 or 2026.', False


def check_references(profile: dict[str, Any], name: str, locate: MistakeLocator) -> Iterator[Mistake]:
    """Yield the mistakes in storage areas, in manual steps, in references to areas, and in the id.

    profile: plain values. name: the file name without .yml, which must be the id. locate: adds file and line.
    """
    if profile.get("id", name) != name:
        yield locate(("id",), f'"id" must match the file name: "{name}".')
    storage = profile.get("storage", [])
    for index, area in enumerate(storage):
        if "name" not in area or UNCHECKED in area:
            continue
        text = describe_wrong_area(area, [earlier.get("name") for earlier in storage[:index]])
        if text:
            yield locate(("storage", index, "name"), text)
    area_names = [area["name"] for area in storage if "name" in area]
    caches = profile.get("caches", {})
    if "area" in caches and not {"path", "below", "why_not"} & caches.keys():
        text = '"area" needs the folder in that area: add "below: FOLDER", such as "below: containers".'
        yield locate(("caches", "area"), text, at_key=True)
    steps = profile.get("human_steps", [])
    for index, step in enumerate(steps):
        for text in list_mistakes_in_step(step):
            yield locate(("human_steps", index), text)
    references: list[tuple[Place, Any]] = [  # each place that may name an area, with the name
        *((("human_steps", index, "area"), step.get("area")) for index, step in enumerate(steps) if _is_link(step)),
        *(((part, key), profile.get(part, {}).get(key)) for part, key in AREA_REFERENCES),
    ]
    for place, area_name in references:
        if area_name is not None and area_name not in area_names:
            yield locate(place, f'unknown storage area "{area_name}"; {nearest(area_name, area_names)}')


def list_mistakes_in_step(step: dict[str, Any]) -> Iterator[str]:
    """Yield the mistakes in a manual step, apart from an unknown storage area."""
    if "every_days" in step and "done" in step:
        yield (
            '"every_days" cannot be combined with "done": a step that is checked automatically needs no interval. '
            'Remove "every_days" or "done".'
        )
    if "secret" in step and step.get("done") != "key":
        yield (
            '"secret" names the key that the step creates, so it requires "done: key". '
            'Add "done: key" or remove "secret".'
        )
    if _is_link(step) != ("area" in step):
        yield (
            '"done: link" and "area", the storage area whose path the step provides, must be used together. '
            "Set both or neither."
        )


def _is_link(step: dict[str, Any]) -> bool:
    """Return True if a manual step is done once the path of its storage area is known."""
    return step.get("done") == "link"


def describe_wrong_area(area: dict[str, Any], earlier_names: list[str]) -> str | None:
    """Return the mistake in a storage area; None if the area is valid. earlier_names: of the areas listed before.

    An area has its path, or the environment variable with the path, or a sentence on whom to ask for the path.
    """
    subject = f'area "{area["name"]}"'
    if area["name"] in earlier_names:
        return f"{subject} is listed twice; remove one of the two entries."
    if len({"path", "variable", "ask"} & area.keys()) != 1:
        return f'{subject} must have exactly one of "path", "variable" and "ask".'
    if {"hard_bytes", "grace_days"} & area.keys() and not {"bytes", "hard_bytes", "grace_days"} <= area.keys():
        return f'{subject} must have "bytes", "hard_bytes" and "grace_days" together; add the missing ones.'
    if area.get("create") and "root" not in area:
        return f'{subject} has "create" but no "root". Set "root" to the folder that the site has created.'
    return None


def check_sources(files: Sequence[ProfileFile], tree: Tree, locate: MistakeLocator) -> Iterator[Mistake]:
    """Yield the mistakes in the list of sources, the unknown sources, and the facts that lack a source.

    files: the profile, then its family. tree: both, merged. locate: adds file and line. A profile without a list of
    sources, or with the status "own", needs no source for its facts.
    """
    if "sources" in tree and "format" not in tree:
        text = (
            'a profile with "sources" must have "format: 2". Each source must have "id", and either "date" or "read". '
            "See docs/clusters.md."
        )
        yield locate(("sources",), text, at_key=True)
        return
    mistakes = [mistake for file in files for mistake in check_source_list(file)]
    if mistakes:  # references cannot be checked against an invalid list
        yield from mistakes
        return
    known_ids = {source["id"] for source in tree.get("sources", ())}
    for file in files:
        yield from find_unknown_sources(file, known_ids)
    if "sources" not in tree or tree.get("status") == "own":
        return
    if tree.get("status") == "documented" and "verified_on" in tree:
        yield from check_age(tree, locate)
    yield from check_unsourced(tree, locate)


def check_unsourced(tree: Tree, locate: MistakeLocator) -> Iterator[Mistake]:
    """Yield a mistake for each section with facts that lack a source, at the first of these facts.

    tree, locate: as in check_sources.
    """
    fact_names: dict[Place, list[str]] = {}  # by section
    for fact in find_unsourced(tree):
        if fact.source is None:  # a source without a date is a mistake in the list of sources
            *section, name = fact.place
            fact_names.setdefault(tuple(section), []).append(str(name))
    advice = 'add "source: ID" to the section, or write {value: ..., source: ID}.'
    for place, names in fact_names.items():
        yield locate((*place, names[0]), f"no source for {', '.join(names)}; {advice}", at_key=True)


def check_age(tree: Tree, locate: MistakeLocator) -> Iterator[Mistake]:
    """Yield a mistake if a source was too old on the day when a documented profile was compared with its sources.

    tree, locate: as in check_sources.
    """
    old = find_old_facts(tree, bare_values(tree["verified_on"]), DOCUMENTED_MONTHS)
    if old:
        oldest = min(old, key=lambda fact: str(fact.date))
        text = (
            f'"documented" requires sources that were at most {DOCUMENTED_MONTHS} months old on the day of '
            f'"verified_on"; the source of {oldest.field}, "{oldest.source}", is from {oldest.date}. '
            'Find a newer source, or set "status: legacy".'
        )
        yield locate(("status",), text)


def check_source_list(file: ProfileFile) -> Iterator[Mistake]:
    """Yield the mistakes in the list of sources of one file."""
    sources = file.document.get("sources", [])
    for index, source in enumerate(sources):
        subject = f'item {index + 1} of "sources"'
        text = describe_wrong_source(subject, source, [earlier.get("id") for earlier in sources[:index]])
        if text:
            yield file.lines.mistake(("sources", index), text, at_key=True)


def find_unknown_sources(file: ProfileFile, known_ids: set[str]) -> Iterator[Mistake]:
    """Yield one mistake for each unknown source in a file, at the first reference to the source."""
    places: dict[str, list[Place]] = {}
    for place, source in find_source_references(file.document):
        if source not in known_ids:
            places.setdefault(source, []).append(place)
    for source, (first, *repetitions) in places.items():
        times = f" ({len(repetitions) + 1} times)" if repetitions else ""
        yield file.lines.mistake(first, f'unknown source "{source}"{times}; {nearest(source, known_ids)}')


def describe_wrong_source(subject: str, source: dict[str, Any], earlier_ids: list[str]) -> str | None:
    """Return the mistake in a source; None if it is valid.

    subject: the source in the message. earlier_ids: of the sources listed before it.
    """
    if "id" not in source:
        return f'{subject} has no "id"; add it, so that facts can refer to the source.'
    if source["id"] in earlier_ids:
        return f'{subject} has the "id" of another source, "{source["id"]}"; change one of the two.'
    if "url" not in source and not source.get("third_party"):
        return f'{subject} has no "url"; add it. Only a source with "third_party: true" can omit it.'
    if len({"date", "read"} & source.keys()) != 1:
        return f'{subject} must have either "date" (the day of publication) or "read" (the day when you read the text).'
    return None
