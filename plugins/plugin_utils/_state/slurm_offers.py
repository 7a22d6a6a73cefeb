# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm offered to each account when it was last asked there: a day long it is not asked again.

It is a copy of what the cluster says, and no loss: what is damaged or of a newer version is asked anew.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .fingerprint_key import state_folder
from .receipts import file_name

if TYPE_CHECKING:
    from .._documents.outcome import SlurmOffers
    from .._documents.record import SlurmRecord

FOLDER = "slurm"
SCHEMA = "hpc.onboard/slurm/1.0"
KEPT_SECONDS = 24 * 3600
WHEN = "%Y-%m-%dT%H:%M:%SZ"


def record(account: str) -> SlurmRecord | None:
    """What is kept of an account; None where nothing is."""
    try:
        found: SlurmRecord = json.loads((state_folder() / FOLDER / file_name(account, False)).read_text("utf-8"))
        is_known = found["schema"] == SCHEMA and isinstance(found["offers"]["missed"], list)
        return found if is_known and _age(found) is not None else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def known(account: str, anew: bool) -> dict[str, Any]:
    """What an account is told of it, by name; it asks again where that is a day old, or where it is to ask anew."""
    found = record(account)
    if found is None:
        return {}
    age = _age(found) or 0.0
    return {
        "slurm": {**found["offers"], "fresh": not anew and 0 <= age < KEPT_SECONDS and not found["offers"]["missed"]}
    }


def keep(account: str, offers: SlurmOffers) -> None:
    """Keep what was found; what cannot be kept is asked again. What was not measured leaves what is known."""
    if offers["accounts"] is None and offers["partitions"] is None:
        return
    from . import durable_files  # once a day

    found: SlurmRecord = {"schema": SCHEMA, "at": datetime.now(UTC).strftime(WHEN), "offers": offers}
    text = json.dumps(found, indent=1, sort_keys=True)
    try:
        with durable_files.told(FOLDER), durable_files.folder(FOLDER) as at:
            durable_files.replace(at, file_name(account, False), text.encode() + b"\n")
    except durable_files.StateError:
        return


def _age(found: SlurmRecord) -> float | None:
    """Seconds since it was asked; None where that cannot be read."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(found["at"])).total_seconds()
    except (TypeError, ValueError):
        return None
