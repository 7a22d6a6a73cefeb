# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role shell_environment: the user's own variables and folders of PATH."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration


def declare(settings: Settings) -> Declaration:
    """Declare the user's own section of the shell environment.

    settings: `variables`, by name; `path`, the folders to add to PATH; `state`.
    """
    if not settings["variables"] and not settings["path"] and settings["state"] == "present":
        return {"resources": [], "notes": []}
    section = resource(
        "shell_environment",
        section="own",
        variables={name: str(value) for name, value in settings["variables"].items()},
        path=list(settings["path"]),
        state=settings["state"],
    )
    return {"resources": [section], "notes": []}
