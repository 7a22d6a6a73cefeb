# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a profile without what has not the right form, so that the rest of its mistakes can be told as well.

Loaded for bad profiles alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._input.diagnostics import Place
from .facts import ProfileFile, find_named_sources
from .families import NAMED_BY
from .source_checks import UNJUDGED

NAMING_AREAS: tuple[Place, ...] = (("caches",), ("conda",), ("human_steps",))


def sound_part(file: ProfileFile, places: Sequence[Place]) -> ProfileFile:
    """The file without what stands at these places, and without what could not be judged any more.

    The items of named lists stay where they are, empty, so that the lines of the others are found.
    """
    places = [place[:-1] if place[-1:] == ("value",) else place for place in places if place]
    unnamed = [place for place in places if place[0] == "storage" and (len(place) < 3 or place[2] == "name")]
    if unnamed or "storage" not in file.document:
        places += NAMING_AREAS
    places += [place[:2] for place in places if place[0] == "human_steps" and len(place) > 2]
    document = without_places(file.document, places)
    for place in places:
        if place[0] == "storage" and len(place) > 2:  # its name is all that others refer to
            document["storage"][place[1]] = {**_name(document["storage"][place[1]]), UNJUDGED: True}
    if any(place[0] == "sources" for place in places):  # all that are named are taken for known
        names = sorted({name for _place, name in find_named_sources(document)})
        document["sources"] = [{"id": name, "third_party": True, "read": "2026"} for name in names]
    if "format" not in document:  # it may be what is misspelt, and sources are judged by it
        document.pop("sources", None)
    return ProfileFile(file.lines, document)


def without_places(node: Any, places: Sequence[Place], key: str = "") -> Any:
    """A document without what stands at these places."""
    gone = {place[0] for place in places if len(place) == 1}
    below = {step: [place[1:] for place in places if len(place) > 1 and place[0] == step] for step in _list_steps(node)}
    if isinstance(node, dict):
        return {name: without_places(item, below[name], str(name)) for name, item in node.items() if name not in gone}
    if isinstance(node, list) and key in NAMED_BY:
        return [{} if at in gone else without_places(item, below[at]) for at, item in enumerate(node)]
    if isinstance(node, list):
        return [without_places(item, below[at]) for at, item in enumerate(node) if at not in gone]
    return node


def _name(area: Any) -> dict[str, Any]:
    return {"name": area["name"]} if "name" in area else {}


def _list_steps(node: Any) -> list[Any]:
    return list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
