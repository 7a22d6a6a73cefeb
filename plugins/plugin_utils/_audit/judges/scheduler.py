# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a question to Slurm: nothing, for it keeps nothing, whatever an account tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.judges.common import Look, Wrong
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome


def judge(_entry: PlanEntry, _outcome: Outcome, _look: Look) -> list[Wrong]:
    """No rule: what Slurm says is compared by the watch slurm_rights."""
    return []
