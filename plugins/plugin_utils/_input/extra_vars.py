# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person wants of one run by -e PREFIX_NAME=VALUE: each word known, each value of its form, before all else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._core.errors import AccountError
from .diagnostics import nearest

Reader = Callable[[str, Any], Any]
"""Makes the value of what a person wrote: is given the name and that, and raises AccountError."""
Value = Callable[[str], Any]
"""Looks a variable up; None where there is none."""


def read_settings(
    whose: str, readers: Mapping[str, Reader], variables: Iterable[object], value: Value, read_words: int = 1
) -> dict[str, Any]:
    """The settings that are given, by name; one that is not known is an error. Raises AccountError.

    whose: of what they are settings. readers: by name; all names begin with the same words, as many as said, and every
    variable that begins with them is taken for a setting.
    """
    prefix = "".join(f"{word}_" for word in next(iter(readers)).split("_")[:read_words])
    for name in map(str, variables):
        if name.startswith(prefix) and name not in readers:
            raise AccountError(f"{name} is not a setting of {whose}; {nearest(name, readers)}")
    given = {name: value(name) for name in readers}
    return {name: readers[name](name, one) for name, one in given.items() if one is not None}


def read_text(_name: str, value: Any) -> str:
    """Any text."""
    return str(value)


def read_any(_name: str, value: Any) -> Any:
    """Whatever it is: who uses it says what is wrong with it."""
    return value


def read_bool(name: str, value: Any) -> bool:
    """Return what Ansible takes for true or false."""
    try:
        return bool(boolean(value))
    except TypeError:
        raise AccountError(f"{name} is {str(value)!r}, but must be true or false") from None


def read_number(name: str, value: Any) -> int:
    """A whole number from 0 up."""
    if not str(value).isdecimal():
        raise AccountError(f"{name} is {str(value)!r}, but must be a whole number (0 or more)")
    return int(value)


def read_words(_name: str, value: Any) -> tuple[str, ...]:
    """A list, or words with commas between them as the command line has them."""
    found = value.strip("[]").split(",") if isinstance(value, str) else value
    return tuple(str(one).strip(" '\"") for one in found if str(one).strip())


def read_choice(*choices: str) -> Reader:
    """The reader of a setting that is one of these words."""

    def read(name: str, value: Any) -> str:
        if str(value) not in choices:
            raise AccountError(f"{name} cannot be {str(value)!r}; {nearest(str(value), choices)}")
        return str(value)

    return read


def read_choices(*choices: str) -> Reader:
    """The reader of a setting that is a list of these words."""

    def read(name: str, value: Any) -> tuple[str, ...]:
        for one in read_words(name, value):
            if one not in choices:
                raise AccountError(f"{name}: {one!r} is not a valid value; {nearest(one, choices)}")
        return read_words(name, value)

    return read
