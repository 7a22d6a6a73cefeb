# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a cache that is to be emptied: nothing, for a cache is there to hold something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.judges.common import Look, Wrong

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome


def judge(_entry: PlanEntry, _outcome: Outcome, _look: Look) -> list[Wrong]:
    """No rule."""
    return []
