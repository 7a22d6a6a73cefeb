# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check settings against an argument spec: convert each value to its type, and return violations as data.

Ansible's own validator reports violations only as sentences. This module accepts, converts and refuses the same values;
tests compare both for all roles and modules of the collection. It supports the keywords that their specs use (KEYWORDS,
TYPES). The sentences for users are in spec_sentences.py, which only a run with a violation imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

Option = Mapping[str, Any]  # the specification of one setting, such as {"type": "int", "default": 0}
Spec = Mapping[str, Option]  # by the name of the setting
Place = tuple[str | int, ...]
Code = Literal["unknown", "missing", "type", "choice"]

KEYWORDS = {"type", "elements", "options", "choices", "required", "default", "no_log", "description"}
TRUE = {"y", "yes", "on", "1", "true", "t", 1}
FALSE = {"n", "no", "off", "0", "false", "f", 0}


class SpecViolation(NamedTuple):
    """One value that the spec does not allow, and its place: the keys and indexes that lead to it.

    code: unknown (key), missing (value), type (wrong type) or choice (not among the choices). expected: the option's
    spec; for an unknown key, the specs of all options by name. got: None for a missing value.
    """

    place: Place
    code: Code
    expected: Mapping[str, Any]
    got: Any


class CheckedSettings(NamedTuple):
    """The converted values, with defaults for those that were not given. Do not use them if there are violations."""

    values: dict[str, Any]
    violations: list[SpecViolation]


class ConversionError(Exception):
    """A value cannot be converted to the type of its option."""


def check_settings(spec: Spec, given: Mapping[str, Any]) -> CheckedSettings:
    """Return the given settings, checked and converted by a spec. An option without a value and a default is None."""
    violations: list[SpecViolation] = []
    return CheckedSettings(_check_mapping(spec, given, place=(), violations=violations), violations)


def _check_mapping(
    spec: Spec, given: Mapping[str, Any], place: Place, violations: list[SpecViolation]
) -> dict[str, Any]:
    """Return the converted values of a mapping (given), and append its violations to the list.

    place: of the mapping in the settings.
    """
    violations.extend(SpecViolation((*place, key), "unknown", spec, given[key]) for key in given if key not in spec)
    values = dict(given)
    for key, option in spec.items():
        value = given.get(key, option.get("default"))
        if key in given or value is not None:
            values[key] = _check_value(option, value, (*place, key), violations)
        elif option.get("required"):
            violations.append(SpecViolation((*place, key), "missing", option, got=None))
        else:
            values[key] = None
    return values


def _check_value(option: Option, value: Any, place: Place, violations: list[SpecViolation]) -> Any:
    """Return a given or default value, converted, and append its violations to the list. place: of the value."""
    is_none_allowed = not option.get("required") and option.get("default") is None  # None: as if not given
    if value is not None or not is_none_allowed:
        try:
            value = _convert(option, value, place, violations)
        except ConversionError:
            violations.append(SpecViolation(place, "type", option, value))
            return None
    if "choices" in option and value not in option["choices"]:
        value = _restore_choice(value, option["choices"])
        if value not in option["choices"]:
            violations.append(SpecViolation(place, "choice", option, value))
    return value


def _restore_choice(value: Any, choices: Iterable[Any]) -> Any:
    """Return the choice that YAML has read as a boolean, such as "no" for False; else the value unchanged."""
    # as in Ansible: the value may also be the text "True" or "False"
    matching_choices = {str(True): TRUE, str(False): FALSE}.get(str(value), set()).intersection(choices)
    return matching_choices.pop() if len(matching_choices) == 1 else value


def _convert(option: Option, value: Any, place: Place, violations: list[SpecViolation]) -> Any:
    """Return the value, converted to the type of the option together with its items. Raise ConversionError.

    Violations in options of a mapping and in items of a list are appended to violations instead. place: of the value.
    """
    converted = TYPES[option.get("type", "str")](value)
    if isinstance(converted, dict) and "options" in option:
        return _check_mapping(option["options"], converted, place, violations)
    if "elements" not in option:
        return converted
    item = {"type": option["elements"]}  # the option of each item
    if "options" in option:
        item["options"] = option["options"]
        if isinstance(value, str):
            as_dict(value)  # as Ansible does: text that is not a mapping is refused before it is split at commas
    if converted is not value:  # a list made from text: an error in an item raises, as an error of the whole value
        return [_convert(item, part, (*place, index), violations) for index, part in enumerate(converted)]
    return list(_convert_items(item, converted, place, violations))


def _convert_items(item: Option, values: list[Any], place: Place, violations: list[SpecViolation]) -> Iterator[Any]:
    """Yield the converted items of a list (values), and append a violation for each item of a wrong type.

    item: the option of each item. place: of the list.
    """
    for index, value in enumerate(values):
        item_place = (*place, index)
        try:
            yield _convert(item, value, item_place, violations)
        except ConversionError:
            violations.append(SpecViolation(item_place, "type", item, value))


def as_text(value: Any) -> str:
    """Return text unchanged, None as empty text, and any other value as str() prints it."""
    return "" if value is None else str(value)


def as_int(value: Any) -> int:
    """Return a whole number, read from a number without a fraction or from text. Raise ConversionError."""
    if isinstance(value, int):
        return value
    import decimal  # imported late: few numbers are given as text

    try:
        number = decimal.Decimal(value)
        whole = int(number)
    except (ArithmeticError, TypeError, ValueError):
        raise ConversionError from None
    if number != whole:
        raise ConversionError
    return whole


def as_bool(value: Any) -> bool:
    """Return the boolean of a word or number that Ansible accepts for one. Raise ConversionError."""
    word = value.lower().strip() if isinstance(value, str) else value
    if not isinstance(word, (str, int, float)) or word not in TRUE | FALSE:
        raise ConversionError
    return word in TRUE


def as_list(value: Any) -> list[Any]:
    """Return a list unchanged, text split at commas, or a number as the only item. Raise ConversionError."""
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return value.split(",")
    if not isinstance(value, (int, float)):
        raise ConversionError
    return [str(value)]


def as_dict(value: Any) -> dict[Any, Any]:
    """Return a mapping, or the mapping that a text contains. Raise ConversionError."""
    if isinstance(value, str):
        from . import mapping_text  # imported late: few mappings are given as text

        value = mapping_text.read(value)
    if not isinstance(value, dict):
        raise ConversionError
    return value


TYPES: dict[str, Callable[[Any], Any]] = {
    "str": as_text,
    "int": as_int,
    "bool": as_bool,
    "list": as_list,
    "dict": as_dict,
}
