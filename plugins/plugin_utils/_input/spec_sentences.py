# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages for violations of an argument spec: the setting, the expected type, and what was given; and their lines.

An option is the spec of one setting. A place is the path of a value in the settings, a tuple of keys and indexes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .argument_spec import Option, Place, SpecViolation
from .diagnostics import Mistakes, YamlText, display_path, nearest, read_text
from .json_schema import as_mapping
from .yaml_loader import TolerantLoader


class SpokenType(NamedTuple):
    """A type of options: its Python type, and its name in the singular and the plural."""

    python: type
    singular: str
    plural: str


SPOKEN_TYPES = {
    # before int: in Python, a bool is also an int
    "bool": SpokenType(bool, "true or false", "true or false"),
    "str": SpokenType(str, "text", "texts"),
    "int": SpokenType(int, "a whole number", "whole numbers"),
    "list": SpokenType(list, "a list", "lists"),
    "dict": SpokenType(dict, "a mapping", "mappings"),
}


def describe_violation(violation: SpecViolation) -> str:
    """Return the message for a violation. The value of a secret is never part of the message."""
    place, option = violation.place, violation.expected
    parent = name_place(place[:-1]) if len(place) > 1 else ""
    if violation.code == "unknown":  # then expected contains all options by name
        in_parent = f" in {parent}" if parent else ""
        return f'unknown key "{place[-1]}"{in_parent}; {nearest(str(place[-1]), violation.expected)}'
    if violation.code == "missing":
        return f"{parent} needs {place[-1]}; add it" if parent else f"{place[-1]} is missing; add it"
    if violation.code == "choice":
        got = "a different value" if option.get("no_log") else violation.got
        return f"{name_place(place)} must be one of {', '.join(map(str, option['choices']))}; got {got}"
    # The only other code is "type".
    return f"{name_place(place)} must be {_describe_option(option)}; got {_describe_value(option, violation.got)}"


def name_place(place: Place) -> str:
    """Return the name of a place for a message: path in item 2 of storage_links_areas."""
    step, parent = place[-1], place[:-1]
    if isinstance(step, int):
        return f"item {step + 1} of {name_place(parent)}"
    return f"{step} in {name_place(parent)}" if parent else step


def _describe_option(option: Option) -> str:
    """Return the type that an option expects, for a message: "text" or "a list of texts"."""
    if "elements" in option:
        return f"a list of {SPOKEN_TYPES[option['elements']].plural}"
    return _spoken_type(option).singular


def _describe_value(option: Option, value: Any) -> str:
    """Return a value of a wrong type for a message: quoted if it is text instead of a number or boolean, else its type.

    option: the spec of the setting.
    """
    if isinstance(value, str) and _spoken_type(option).python in (int, bool) and not option.get("no_log"):
        return f'"{value}"'
    if value is None:
        return "nothing"
    spoken_types = SPOKEN_TYPES.values()
    return next((each.singular for each in spoken_types if isinstance(value, each.python)), "an unknown type")


def _spoken_type(option: Option) -> SpokenType:
    """Return the type that an option expects, with its names."""
    return SPOKEN_TYPES[option.get("type", "str")]


def find_setting(document: Any, account: str, role: str, text: str, variables: Mapping[str, Any]) -> Place | None:
    """Return the place of the setting of a role that the text of an error names; None if the file sets none.

    document: of the accounts file. variables: of the account; only a setting that has the value of its variable is
    meant. If the text names no such setting, return the place of all settings of the role.
    """
    accounts, defaults = (as_mapping(as_mapping(document).get(part)) for part in ("accounts", "defaults"))
    entries: list[tuple[Place, Any]] = [(("accounts", account), accounts.get(account)), (("defaults",), defaults)]
    places: list[Place] = []
    for place, entry in entries:
        for key in (role, *(("links",) if role == "storage_links" else ())):  # links: its short form
            if key not in as_mapping(entry):
                continue
            places.append((*place, key))
            for name, value in as_mapping(entry[key]).items():
                is_named = re.search(rf"(?<!\w){re.escape(str(name))}(?!\w)", text)
                if is_named and (key == "links" or variables.get(f"{role}_{name}") == value):
                    return (*place, key, str(name))
    return places[0] if places else None


def add_line(file: Path, account: str, role: str, text: str, variables: Mapping[str, Any]) -> str:
    """Return the text of an error with the line of the accounts file that sets the role, if there is one.

    The other parameters are those of find_setting().
    """
    try:
        lines = YamlText(file, read_text(file))
        place = find_setting(lines.document(TolerantLoader), account, role, text, variables)
        return f"{text} ({display_path(file)}:{lines.line_of(place, at_key=True)})" if place else text
    except Mistakes:
        return text
