# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the part of an account's response that is about Slurm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .sanitise import harmless

if TYPE_CHECKING:
    from .._documents.outcome import SlurmOffers, SlurmPartition

MOST, LONGEST = 200, 100  # entries of a list; characters of a name


def parse_offers(answer: Mapping[str, Any]) -> SlurmOffers:
    """Return what module_utils/_slurm/offers.py sent, with safe texts. Raise KeyError and TypeError."""
    accounts, partitions = answer["accounts"], answer["partitions"]
    return {
        "accounts": None
        if accounts is None
        else [
            {
                "name": harmless(account["name"], LONGEST),
                "qos": _parse_names(account["qos"]),
                "default_qos": harmless(account["default_qos"], LONGEST),
            }
            for account in accounts[:MOST]
        ],
        "default": _parse_name(answer["default"]),
        "default_partition": _parse_name(answer["default_partition"]),
        "partitions": None if partitions is None else [_parse_partition(partition) for partition in partitions[:MOST]],
        "missed": [harmless(sentence, 500) for sentence in answer["missed"][:9]],
    }


def _parse_partition(answer: Mapping[str, Any]) -> SlurmPartition:
    """Return a partition. most: GPUs of one node, only if the partition has GPUs. Raise KeyError and TypeError."""
    partition: SlurmPartition = {
        "name": harmless(answer["name"], LONGEST),
        "gpus": _parse_names(answer["gpus"]),
        "minutes": None if answer["minutes"] is None else int(answer["minutes"]),
    }
    return {**partition, "most": int(answer["most"])} if "most" in answer else partition


def _parse_name(name: object) -> str | None:
    """Return a name with safe characters; None if the account does not know it."""
    return None if name is None else harmless(name, LONGEST)


def _parse_names(names: list[object]) -> list[str]:
    """Return the first MOST names, with safe characters."""
    return [harmless(name, LONGEST) for name in names[:MOST]]
