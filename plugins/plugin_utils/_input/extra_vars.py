# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a run that the user gives as -e PREFIX_NAME=VALUE, checked before the run begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...module_utils._core.errors import AccountError
from .diagnostics import nearest

Reader = Callable[[str, Any], Any]
"""Converts a given value: gets the name and the value, and raises AccountError if the value is invalid."""
ReadVariable = Callable[[str], Any]
"""Returns the value of a variable; None if it is not set."""


def read_settings(
    owner: str,
    readers: Mapping[str, Reader],
    variables: Iterable[object],
    read_variable: ReadVariable,
    prefix_words: int = 1,
) -> dict[str, Any]:
    """Return the given settings by name, converted. Raise AccountError for an unknown setting or an invalid value.

    owner: the name of what the settings belong to, for the error. readers: one for each setting, by name. variables:
    the names of all variables. The first prefix_words words of all settings are the same, such as "audit", and every
    variable that begins with these words must be a setting.
    """
    prefix = "".join(f"{word}_" for word in next(iter(readers)).split("_")[:prefix_words])
    for name in map(str, variables):
        if name.startswith(prefix) and name not in readers:
            raise AccountError(f"{name} is not a setting of {owner}; {nearest(name, readers)}")
    values = {name: read_variable(name) for name in readers}
    return {name: readers[name](name, value) for name, value in values.items() if value is not None}


def read_text(_name: str, value: Any) -> str:
    """Return the value as text."""
    return str(value)


def read_any(_name: str, value: Any) -> Any:
    """Return the value unchanged; the code that uses it checks it."""
    return value


def read_bool(name: str, value: Any) -> bool:
    """Return the boolean that a value stands for, in any form that Ansible accepts. Raise AccountError."""
    # imported late: init asks with agreement.py, which imports this module, and needs no other part of Ansible
    from ansible.module_utils.parsing.convert_bool import boolean

    try:
        return bool(boolean(value))
    except TypeError:
        raise AccountError(f"{name} is {str(value)!r}, but must be true or false") from None


def read_number(name: str, value: Any) -> int:
    """Return a value as a whole number, 0 or more. Raise AccountError."""
    if not str(value).isdecimal():
        raise AccountError(f"{name} is {str(value)!r}, but must be a whole number (0 or more)")
    return int(value)


def read_words(_name: str, value: Any) -> tuple[str, ...]:
    """Return the words of a list, or of text such as "a,b" or "[a, b]"; any other value is a single word."""
    words = value if isinstance(value, (list, tuple)) else str(value).strip("[]").split(",")
    return tuple(str(word).strip(" '\"") for word in words if str(word).strip())


def read_choice(*choices: str) -> Reader:
    """Return the reader of a setting whose value is one of these words."""

    def read(name: str, value: Any) -> str:
        """Return the value if it is one of the choices. Raise AccountError."""
        if str(value) not in choices:
            raise AccountError(f"{name} cannot be {str(value)!r}; {nearest(str(value), choices)}")
        return str(value)

    return read


def read_choices(*choices: str) -> Reader:
    """Return the reader of a setting whose value is a list of these words."""

    def read(name: str, value: Any) -> tuple[str, ...]:
        """Return the words of the value if all are among the choices. Raise AccountError."""
        words = read_words(name, value)
        for word in words:
            if word not in choices:
                raise AccountError(f"{name}: {word!r} is not a valid value; {nearest(word, choices)}")
        return words

    return read
