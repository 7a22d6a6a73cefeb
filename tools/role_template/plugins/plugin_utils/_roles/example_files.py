# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role example_files: say in one line what it sets up on the account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration


def declare(settings: Settings) -> Declaration:
    """Declare the files. settings: `entries`, each with `path` and maybe `content`; `state`."""
    resources = [
        resource("example_file", path=entry["path"], content=entry.get("content"), state=settings["state"])
        for entry in settings["entries"]
    ]
    return {"resources": resources, "notes": []}
