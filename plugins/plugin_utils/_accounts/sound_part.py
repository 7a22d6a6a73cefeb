# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove the invalid parts of a profile, so that the mistakes in its other parts can be reported as well.

This module is imported only for invalid profiles. A place is the path of a value, a tuple of keys and indexes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._input.diagnostics import Place
from .._input.json_schema import remove_places
from .facts import ProfileFile, find_source_references
from .source_checks import UNCHECKED

REFERRING_TO_AREAS: tuple[Place, ...] = (("caches",), ("conda",), ("human_steps",))


def remove_invalid_parts(file: ProfileFile, places: Sequence[Place]) -> ProfileFile:
    """Return the file without the invalid values at these places, and without other parts that depend on them."""
    # a fact in a wrapper (..., "value") is removed with its wrapper
    places = [place[:-1] if place[-1:] == ("value",) else place for place in places if place]
    # the list, an area or its name is invalid
    lost_names = [place for place in places if place[0] == "storage" and (len(place) < 3 or place[2] == "name")]
    if lost_names or "storage" not in file.document:  # references to areas cannot be checked without all their names
        places += REFERRING_TO_AREAS
    places += [place[:2] for place in places if place[0] == "human_steps" and len(place) > 2]  # the whole step
    if any(place[0] == "caches" for place in places):  # the folder may be lost, without which the area is a mistake
        places = [*places, ("caches", "area")]
    document = {**remove_places(file.document, places)}
    for name in ("storage", "human_steps"):  # an empty item remains, so that the others keep their index
        if isinstance(document.get(name), list):
            document[name] = [item or {} for item in document[name]]
    for place in places:
        if place[0] == "storage" and len(place) > 2:
            document["storage"][place[1]] = _keep_name(document["storage"][place[1]])
    if any(place[0] == "sources" for place in places):
        document["sources"] = _assume_sources(document)
    if "format" not in document:  # this key may be the misspelt one, and sources are checked only with it
        document.pop("sources", None)
    return ProfileFile(file.lines, document)


def _keep_name(area: dict[str, Any]) -> dict[str, Any]:
    """Return an area with an invalid value as its name alone, to which other fields refer; the rest is not checked."""
    return {**({"name": area["name"]} if "name" in area else {}), UNCHECKED: True}


def _assume_sources(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a valid list of sources for a document whose own list is invalid: all sources that its facts refer to."""
    ids = sorted({source for _place, source in find_source_references(document)})
    return [{"id": source, "third_party": True, "read": "2026"} for source in ids]
