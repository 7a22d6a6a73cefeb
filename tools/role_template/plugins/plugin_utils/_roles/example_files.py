# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability example_files: say in one line what an account gets by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import Settings, resource

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import Declaration


def declare(settings: Settings) -> Declaration:
    """What an account gets. settings: entries [{path, content?}], state."""
    entries = [
        resource("example_file", path=one["path"], content=one.get("content"), state=settings["state"])
        for one in settings["entries"]
    ]
    return {"resources": entries, "notes": []}
