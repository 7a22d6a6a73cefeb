# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role shell_environment: the user's own variables and folders of PATH."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration


LATER_PATH = re.compile(r":(?:~/|\$\{?[A-Za-z_])")  # a second path that a user expects to be expanded


def declare(settings: Settings) -> Declaration:
    """Declare the user's own section of the shell environment.

    settings: `variables`, by name; `path`, the folders to add to PATH; `state`.
    """
    if not settings["variables"] and not settings["path"] and settings["state"] == "present":
        return {"resources": [], "notes": []}
    section = resource(
        "shell_environment",
        section="own",
        variables={name: read_value(name, value) for name, value in settings["variables"].items()},
        path=list(settings["path"]),
        state=settings["state"],
    )
    return {"resources": [section], "notes": []}


def read_value(name: str, value: Any) -> str:
    """Return the value of a variable as text.

    Raise AccountError for a value that YAML has changed, such as yes or 12.10, and for a list of paths, of which
    hpc-onboard would expand only the first one.
    """
    if not isinstance(value, str) and type(value) is not int:
        raise AccountError(
            f"shell_environment: variables: {name} is not text; YAML reads it as {value!r}. Write the value in quotes,"
            f' for example {name}: "yes"'
        )
    if LATER_PATH.search(str(value)):
        raise AccountError(
            f"shell_environment: variables: {name}: only a variable or ~ at the beginning of {value!r} would be"
            f" expanded. Write full paths, or set {name} in your own start-up file"
        )
    return str(value)
