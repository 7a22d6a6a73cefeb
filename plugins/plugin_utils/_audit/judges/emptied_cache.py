# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a cache that is to be emptied: nothing, for a cache is there to hold something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .common import Look, Wrong

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.outcome import ResourceOutcome


def judge(_entry: PlanEntry, _outcome: ResourceOutcome, _look: Look) -> list[Wrong]:
    """No rule."""
    return []
