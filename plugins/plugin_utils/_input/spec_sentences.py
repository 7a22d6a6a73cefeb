# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people are told of a setting that an argument spec does not allow: which one, what it must be, what it is."""

from __future__ import annotations

from typing import Any, NamedTuple

from .argument_spec import Option, Place, SpecViolation
from .diagnostics import nearest


class SpokenType(NamedTuple):
    """A type of options: what it is in Python, and what a person calls one and several."""

    python: type
    one: str
    several: str


SPOKEN_TYPES = {
    "bool": SpokenType(
        bool, "true or false", "true or false"
    ),  # before the whole numbers, which it is one of in Python
    "str": SpokenType(str, "text", "texts"),
    "int": SpokenType(int, "a whole number", "whole numbers"),
    "list": SpokenType(list, "a list", "lists"),
    "dict": SpokenType(dict, "a mapping", "mappings"),
}


def describe_violation(violation: SpecViolation) -> str:
    """One violation in words. The value of a secret is in none of them."""
    place, option = violation.place, violation.wanted
    around = name_place(place[:-1]) if len(place) > 1 else ""
    if violation.code == "unknown":
        known = nearest(str(place[-1]), violation.wanted)
        return f'unknown key "{place[-1]}"{around and f" in {around}"}; {known}'
    if violation.code == "missing":
        return f"{around} needs {place[-1]}; add it" if around else f"{place[-1]} is missing; add it"
    if violation.code == "choice":
        got = "another value" if option.get("no_log") else violation.got
        return f"{name_place(place)} must be one of {', '.join(map(str, option['choices']))}; got {got}"
    return f"{name_place(place)} must be {_describe_option(option)}; got {_describe_value(option, violation.got)}"


def name_place(place: Place) -> str:
    """Return what a person calls a place: path in item 2 of storage_links_areas."""
    step, around = place[-1], place[:-1]
    if isinstance(step, int):
        return f"item {step + 1} of {name_place(around)}"
    return f"{step} in {name_place(around)}" if around else step


def _describe_option(option: Option) -> str:
    return f"a list of {SPOKEN_TYPES[option['elements']].several}" if "elements" in option else _spoken_type(option).one


def _describe_value(option: Option, value: Any) -> str:
    """A value that is not of its type: the words where words might do, and are no secret; else what it is."""
    if isinstance(value, str) and _spoken_type(option).python in (int, bool) and not option.get("no_log"):
        return f'"{value}"'
    if value is None:
        return "nothing"
    return next((kind.one for kind in SPOKEN_TYPES.values() if isinstance(value, kind.python)), "another type")


def _spoken_type(option: Option) -> SpokenType:
    return SPOKEN_TYPES[option.get("type", "str")]
