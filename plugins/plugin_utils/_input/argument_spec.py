# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings checked by an argument spec: each value in the type that is wanted, and what is wrong, as facts.

Ansible's own validator says what is wrong in sentences alone, which nobody should have to read back. This one takes,
converts and refuses exactly what that one does; the tests hold it to that for all our roles and modules. It knows the
words that their specs use (WORDS, TYPES), and no others. What people are told is in spec_sentences.py, for few runs
have anything to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

Option = Mapping[str, Any]
Spec = Mapping[str, Option]
Place = tuple[str | int, ...]
Code = Literal["unknown", "missing", "type", "choice"]

WORDS = {"type", "elements", "options", "choices", "required", "default", "no_log", "description"}
TRUE = {"y", "yes", "on", "1", "true", "t", 1}
FALSE = {"n", "no", "off", "0", "false", "f", 0}


class SpecViolation(NamedTuple):
    """One thing that the spec does not allow, and where it stands.

    wanted: the option there; for an unknown key the options that there are, by name. got: the value, None for a
    missing one.
    """

    place: Place
    code: Code
    wanted: Mapping[str, Any]
    got: Any


class CheckedSettings(NamedTuple):
    """The values that were given, in their types, with the defaults of those that were not; and what is wrong.

    Where something is wrong the values are of no use.
    """

    values: dict[str, Any]
    violations: list[SpecViolation]


class ConversionError(Exception):
    """A value cannot be read as the type that is wanted."""


def check_settings(spec: Spec, given: Mapping[str, Any]) -> CheckedSettings:
    """Check what is given by a spec. It is left as it is; None is kept where no value has to be there."""
    violations: list[SpecViolation] = []
    return CheckedSettings(_check_mapping(spec, given, (), violations), violations)


def _check_mapping(
    spec: Spec, given: Mapping[str, Any], place: Place, violations: list[SpecViolation]
) -> dict[str, Any]:
    """The values of a mapping; what is wrong is added to the violations."""
    violations.extend(SpecViolation((*place, key), "unknown", spec, given[key]) for key in given if key not in spec)
    values = dict(given)
    for key, option in spec.items():
        value = given.get(key, option.get("default"))
        if key in given or value is not None:
            values[key] = _check_value(option, value, (*place, key), violations)
        elif option.get("required"):
            violations.append(SpecViolation((*place, key), "missing", option, None))
        else:
            values[key] = None
    return values


def _check_value(option: Option, value: Any, place: Place, violations: list[SpecViolation]) -> Any:
    """One value, which was given or is a default."""
    if value is not None or option.get("required") or option.get("default") is not None:
        try:
            value = _convert(option, value, place, violations)
        except ConversionError:
            violations.append(SpecViolation(place, "type", option, value))
            return None
    if "choices" in option and value not in option["choices"]:
        value = _restore_word(value, option["choices"])
        if value not in option["choices"]:
            violations.append(SpecViolation(place, "choice", option, value))
    return value


def _restore_word(value: Any, choices: Iterable[Any]) -> Any:
    """The one choice that YAML has read as true or false, such as a bare "no"; else the value."""
    same = {str(True): TRUE, str(False): FALSE}.get(str(value), set()).intersection(choices)
    return same.pop() if len(same) == 1 else value


def _convert(option: Option, value: Any, place: Place, violations: list[SpecViolation]) -> Any:
    """The value in the type of the option, and what lies in it. Raises OfAnotherType for the value itself."""
    found = TYPES[option.get("type", "str")](value)
    if isinstance(found, dict) and "options" in option:
        return _check_mapping(option["options"], found, place, violations)
    if "elements" not in option:
        return found
    item = {"type": option["elements"]}
    if "options" in option:
        item["options"] = option["options"]
        if isinstance(value, str):
            as_dict(value)  # before it is taken apart at its commas, Ansible reads text as one of the mappings
    if found is not value:
        return [_convert(item, one, (*place, at), violations) for at, one in enumerate(found)]
    return list(_convert_items(item, found, place, violations))


def _convert_items(item: Option, values: list[Any], place: Place, violations: list[SpecViolation]) -> Iterator[Any]:
    """The items of a list that was given as one."""
    for at, value in enumerate(values):
        below = (*place, at)
        try:
            yield _convert(item, value, below, violations)
        except ConversionError:
            violations.append(SpecViolation(below, "type", item, value))


def as_text(value: Any) -> str:
    """Text as it is, nothing as the empty one, and all else as Python writes it."""
    return "" if value is None else str(value)


def as_int(value: Any) -> int:
    """A whole number, also as text or as another number without a fraction."""
    if isinstance(value, int):
        return value
    import decimal  # few settings are numbers that were written as text

    try:
        number = decimal.Decimal(value)
        whole = int(number)
    except (ArithmeticError, TypeError, ValueError):
        raise ConversionError from None
    if number != whole:
        raise ConversionError
    return whole


def as_bool(value: Any) -> bool:
    """True or false, or one of the words and numbers that Ansible takes for them."""
    word = value.lower().strip() if isinstance(value, str) else value
    if not isinstance(word, (str, int, float)) or word not in TRUE | FALSE:
        raise ConversionError
    return word in TRUE


def as_list(value: Any) -> list[Any]:
    """A list, text between commas, or one number."""
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return value.split(",")
    if not isinstance(value, (int, float)):
        raise ConversionError
    return [str(value)]


def as_dict(value: Any) -> dict[Any, Any]:
    """A mapping, or text that is read as one."""
    if isinstance(value, str):
        from . import mapping_text  # few are written so

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
