# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account answers of Slurm, typed and harmless."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .sanitise import harmless

if TYPE_CHECKING:
    from .._documents.outcome import SlurmOffers, SlurmPartition

MOST, LONGEST = 200, 100  # of each list; letters of a name


def offers(found: Mapping[str, Any]) -> SlurmOffers:
    """What Slurm lets the account do, as module_utils/_slurm/offers.py tells it. Raises KeyError and TypeError."""
    accounts, partitions = found["accounts"], found["partitions"]
    return {
        "accounts": None
        if accounts is None
        else [
            {
                "name": harmless(one["name"], LONGEST),
                "qos": _words(one["qos"]),
                "default_qos": harmless(one["default_qos"], LONGEST),
            }
            for one in accounts[:MOST]
        ],
        "default": _name(found["default"]),
        "default_partition": _name(found["default_partition"]),
        "partitions": None if partitions is None else [_partition(one) for one in partitions[:MOST]],
        "missed": [harmless(one, 500) for one in found["missed"][:9]],
    }


def _partition(one: Mapping[str, Any]) -> SlurmPartition:
    minutes = None if one["minutes"] is None else int(one["minutes"])
    found: SlurmPartition = {"name": harmless(one["name"], LONGEST), "gpus": _words(one["gpus"]), "minutes": minutes}
    return {**found, "most": int(one["most"])} if "most" in one else found


def _name(found: object) -> str | None:
    return None if found is None else harmless(found, LONGEST)


def _words(found: list[object]) -> list[str]:
    return [harmless(one, LONGEST) for one in found[:MOST]]
