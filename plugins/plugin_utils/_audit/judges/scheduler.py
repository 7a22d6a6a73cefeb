# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a question to Slurm: nothing, for it keeps nothing, whatever an account tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._documents.declaration import PlanEntry
    from ..._documents.outcome import ResourceOutcome
    from .common import Look, Wrong


def judge(_entry: PlanEntry, _outcome: ResourceOutcome, _look: Look) -> list[Wrong]:
    """No rule: what Slurm says is compared by the watch slurm_rights."""
    return []
